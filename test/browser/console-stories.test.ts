import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { createDraftContract, createSentContract, getContractStatus } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { getViewUrl, hostileTag, openConsole, startFailingWebhookStory, startFullStory } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

const press = (page: Tab, name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();
const waitForOutcome = (page: Tab, message: string) => page.getByRole("status").getByText(message).waitFor();

/** Reads the value on every animation frame until it is as expected. Fails with the last value. */
async function waitForValue<Value>(
  page: Tab,
  read: () => Promise<Value>,
  expected: Value,
  moment: string,
): Promise<void> {
  for (let frames = 0; frames < 600; frames += 1) {
    if (isDeepStrictEqual(await read(), expected)) return;
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  assert.deepEqual(await read(), expected, moment);
}

/** The text of the focused element. */
const getFocusedText = (page: Tab): Promise<string> => page.evaluate("document.activeElement.textContent.trim()");

/** Presses Tab until the element has the focus. Waits for the element first. */
async function pressTabUntil(page: Tab, role: "button" | "link", name: string | RegExp): Promise<void> {
  const target = page.getByRole(role, { name, exact: true, disabled: false });
  await target.waitFor();
  for (let stops = 0; stops < 80; stops += 1) {
    await page.keyboard.press("Tab");
    if ((await target.and(page.locator(":focus")).count()) > 0) return;
  }
  assert.fail(`No stop is called ${name}`);
}

describe("user journeys in the console", { skip }, () => {
  it("finds the failing webhook, advances the clock and resends after a fix", async (t) => {
    const page = await tab(t);
    const { emulator, hooks } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    await page.getByText("when you advance the clock").waitFor();
    const alert = page.getByRole("region", { name: "Hooks", exact: true });
    assert.ok((await alert.boundingBox())!.height < 56, "an alert is one line until it is opened");
    await alert.getByText("responded 503", { exact: true }).click();
    await page
      .getByText(
        "Last attempt: the receiver responded 503. 1 attempt failed. The sixth consecutive failure disables the webhook.",
      )
      .waitFor();
    await page.getByRole("link", { name: /^Timeline.*1 failing webhook$/ }).waitFor();
    await page.getByRole("link", { name: /^Deliveries.*1 undelivered$/ }).waitFor();
    await press(page, "Until idle");
    await page.getByText("Disabled after 6 consecutive failures, at").waitFor();
    await page.getByText("No webhooks or e-mails are scheduled.").waitFor();
    await page.getByText("6 failures in a row").waitFor();

    await page.getByRole("link", { name: "Why Hooks fails" }).click();
    const dialog = page.getByRole("dialog", { name: "Why delivery 1" });
    await dialog.getByText("retry 5, 80 min after 503", { exact: false }).waitFor();
    assert.equal(
      await dialog
        .getByRole("listitem")
        .filter({ hasText: /^attempt \d: 503/ })
        .count(),
      6,
    );
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.equal(await getFocusedText(page), "Why?");

    await press(page, "Send delivery 1 again");
    await page.locator(".outcome .bad").getByText("Resent and failed: 503").waitFor();
    hooks.respond(200);
    await press(page, "Enable Hooks");
    await waitForOutcome(page, "Hooks is enabled");
    // The pressed button is gone, so the focus moves to the next button.
    await waitForValue(page, () => getFocusedText(page), "Send delivery 1 again", "enabled");
    await page.getByText("Enabled again; no delivery has arrived since.").waitFor();
    await press(page, "Send delivery 1 again");
    await waitForOutcome(page, "Resent: 200");
    await page.getByText("All deliveries arrived").waitFor();
    for (const name of ["Timeline", "Deliveries"]) await page.getByRole("link", { name, exact: true }).waitFor();
    assert.equal(hooks.received.length, 8);
    assert.deepEqual(page.complaints, []);
  });

  it("signs a contract, advances the clock, reads a trace and resends by keyboard", async (t) => {
    const page = await tab(t);
    const { emulator, hooks } = await startFailingWebhookStory(t);
    const contract = await createSentContract(emulator.api);
    await openConsole(page, emulator);
    await pressTabUntil(page, "link", "Contracts");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Contracts", level: 1 }).waitFor();
    await pressTabUntil(page, "link", /^T-2 ?NDA with Acme/);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign as Jo Doe", exact: true }).waitFor();
    await pressTabUntil(page, "button", "Sign as Jo Doe");
    await page.keyboard.press("Enter");
    await waitForOutcome(page, "T-2 is EXECUTED");
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
    await page.getByText("signed 03:04:05").waitFor();
    await page.getByRole("img", { name: "Status: EXECUTED. This status is final." }).waitFor();

    await pressTabUntil(page, "button", "Next");
    await page.keyboard.press("Enter");
    await waitForOutcome(page, "Now 03:0");
    await pressTabUntil(page, "link", /^Timeline.*1 failing webhook$/);
    await page.keyboard.press("Enter");
    await page.getByRole("toolbar", { name: "Attempts of Hooks" }).waitFor();
    await pressTabUntil(page, "button", "Delivery 1: attempt 1 of 7, immediately, 503");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Why delivery 1" }).getByText("attempt 1: 503").waitFor();
    await page.keyboard.press("Escape");
    hooks.respond(200);
    await pressTabUntil(page, "button", "Send delivery 2 again");
    await page.keyboard.press("Enter");
    await waitForOutcome(page, "Resent: 200");
  });

  it("moves a contract with the buttons of its owner and of other users", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await openConsole(page, emulator, "#/contracts/T-1");
    await page.getByText('eval "$(svc emulator env --workspace 1)"').waitFor();
    const people = page.getByRole("list", { name: "People" });
    const buttons = async () =>
      (await people.getByRole("button", { disabled: false }).allTextContents()).filter(
        (words) => words !== "" && !words.startsWith("Copy link"),
      );
    const open = ["Mark for execution", "Request review", "Request approval", "Put on hold", "Void", "Delete"];
    const steps: readonly (readonly [press: string, becomes: string, offers: readonly string[]])[] = [
      ["Request review", "DRAFT", ["Complete review", "Send", ...open]],
      ["Complete review as Ada Keller", "DRAFT", ["Send", ...open]],
      ["Request approval", "DRAFT", ["Approve", "Send", ...open]],
      ["Approve as Ada Keller", "DRAFT", ["Send", ...open]],
      ["Send", "SIGN", ["Sign", "Decline", "Unmark for execution", "Put on hold", "Void", "Delete"]],
      ["Unmark for execution", "REDLINING", open],
      ["Mark for execution", "SIGN", ["Sign", "Decline", "Unmark for execution", "Put on hold", "Void", "Delete"]],
      ["Put on hold", "ON_HOLD", ["Resume", "Void", "Delete"]],
      ["Resume", "SIGN", ["Sign", "Decline", "Unmark for execution", "Put on hold", "Void", "Delete"]],
      ["Decline as Jo Doe", "DRAFT", ["Send", ...open]],
      ["Void", "VOIDED", ["Delete"]],
    ];
    const getNotice = (words: string, becomes: string) =>
      words === "Request review"
        ? "Review of T-1 requested"
        : words === "Request approval"
          ? "Approval of T-1 requested"
          : `T-1 is ${becomes}`;
    for (const [words, becomes, offers] of steps) {
      await people.getByRole("button", { name: words, exact: true }).click();
      if (words === "Void") {
        await page.getByRole("dialog", { name: "Void T-1?" }).getByRole("button", { name: "Void T-1" }).click();
      }
      await page.getByRole("img", { name: `Status: ${becomes}.` }).waitFor();
      await waitForOutcome(page, getNotice(words, becomes));
      await waitForValue(page, buttons, offers, words);
      const reviewer = people.getByRole("listitem").filter({ hasText: "ada@northwind.example" });
      if (becomes === "SIGN") await reviewer.getByText("no action now").waitFor();
    }
    // Deletion requires a confirmation. Cancel changes nothing.
    await press(page, "Delete");
    const question = page.getByRole("dialog", { name: "Delete T-1?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    assert.equal((await emulator.api("GET", "/api/v2.1/public/contracts/T-1/status")).status, 200);
    assert.equal(await getFocusedText(page), "Delete");
    await page.keyboard.press("Enter");
    await question.getByRole("button", { name: "Delete T-1" }).click();
    await waitForOutcome(page, "T-1 is deleted");
    await page.getByRole("heading", { name: "Contracts", level: 1 }).waitFor();
    await waitForValue(page, () => getFocusedText(page), "Contracts", "deleted");
    assert.equal((await emulator.api("GET", "/api/v2.1/public/contracts/T-1/status")).status, 404);
  });

  it("shows the sent bytes, checks the signature and shows the response as text", async (t) => {
    const page = await tab(t);
    const { emulator, hooks } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/deliveries/1");
    await page.getByText("signature matches").waitFor();
    await page.getByText("computed in this page with the key of workspace Northwind Legal:").waitFor();
    const [first] = hooks.received;
    const sentBody = await page.getByRole("region", { name: "Body (the same bytes in every attempt" }).textContent();
    assert.equal(sentBody, first!.body.toString());
    assert.equal(await page.locator(".signature code").textContent(), first!.headers["x-svc-webhook-content-hash"]);
    assert.equal(
      await page.getByRole("region", { name: "Response of the receiver" }).textContent(),
      "<img src=x onerror=alert(1)> busy",
    );
  });

  it("advances to an entered time without a layout shift", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    const panel = page.getByRole("form", { name: "Advance to a time" });
    const bar = () =>
      page.getByRole("region", { name: "Virtual time", exact: true }).evaluate("(bar) => bar.offsetHeight");
    const height = await bar();
    await press(page, "To …");
    await panel.waitFor();
    assert.equal(await bar(), height);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    assert.equal(await getFocusedText(page), "To …");
    await page.keyboard.press("Enter");
    await panel.getByLabel("To (virtual, UTC)").fill("2031-01-02T03:30");
    await page.keyboard.press("Enter");
    await waitForOutcome(page, "Now 03:30:00");
    await panel.waitFor({ state: "detached" });
    assert.equal(await getFocusedText(page), "To …");
    await press(page, "To …");
    await press(page, "Until idle");
    await waitForOutcome(page, "jobs ran");
    await panel.waitFor({ state: "detached" });
    await page.getByText("No webhooks or e-mails are scheduled.").waitFor();
    assert.equal(await bar(), height);
  });

  it("accepts input for the clock panel before a slow machine renders the panel", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    await page.getByRole("button", { name: "To …", exact: true }).waitFor();
    const checks = await page.evaluate(`(async () => {
      const rendered = async () => { for (let i = 0; i < 5; i += 1) await null; };
      const panel = () => document.querySelector("form.panel");
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "To …").click();
      await rendered();
      const held = panel()?.contains(document.activeElement);
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      await rendered();
      return [held, panel() === null, document.activeElement.textContent];
    })()`);
    assert.deepEqual(checks, [true, true, "To …"]);
  });

  it("supports an address for every view, with back and forward", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFullStory(t);
    await openConsole(page, emulator, "#/contracts/T-2?trace=T-2");
    await page.getByRole("dialog", { name: "Why T-2" }).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL(getViewUrl(emulator, "#/contracts/T-2"));
    await page.getByRole("heading", { name: hostileTag, level: 1 }).waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill("delivery:1");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Delivery 1", level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: hostileTag, level: 1 }).waitFor();
    await page.goForward();
    await page.getByRole("heading", { name: "Delivery 1", level: 1 }).waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill("2");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: `T-2: ${hostileTag}` }).click();
    await page.getByRole("heading", { name: hostileTag, level: 1 }).waitFor();
    assert.equal(await page.title(), "Contracts T-2 · svc console");
    assert.equal(await page.locator("main img").count(), 0);
    assert.deepEqual(page.complaints, []);
  });

  it("follows a link to a part of a list, with back and forward", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFullStory(t);
    await openConsole(page, emulator);
    const rows = page.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
    await page.getByText("responded 503", { exact: true }).click();
    await page.getByRole("link", { name: "3 undelivered deliveries" }).click();
    await page.getByText(/^Filter: .*Hooks/).waitFor();
    await waitForValue(page, () => rows.count(), 3, "not arrived");
    assert.equal(await rows.getByTitle(/^to Hooks · T-\d$/).count(), 3);
    await page.waitForURL(getViewUrl(emulator, "#/deliveries?webhook=1&show=undelivered"));
    await page.getByRole("link", { name: "Scheduled" }).click();
    await page.waitForURL(getViewUrl(emulator, "#/deliveries?webhook=1&show=scheduled"));
    await page.goBack();
    await page.getByRole("link", { name: "Undelivered 3" }).and(page.locator("[aria-current]")).waitFor();
    await page.goto(getViewUrl(emulator, "#/requests"));
    await page.getByText("/router/v1/clustrs").first().waitFor();
    await press(page, "Clear log");
    await page
      .getByRole("dialog", { name: "Clear the request log?" })
      .getByRole("button", { name: "Clear log" })
      .click();
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    assert.equal(await page.getByText("/_emulator/requests").count(), 0);
    assert.deepEqual(page.complaints, []);
  });

  it("finds contracts, webhooks, snapshots, devices and addresses by name", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFullStory(t);
    await openConsole(page, emulator);
    const [device] = (await emulator.control("GET", "device-grants")).body as { user_code: string }[];
    for (const [words, link] of [
      ["hooks", "Webhook 1: Hooks"],
      ["prepared", "Snapshot prepared"],
      ["1", "Webhook 1: Hooks"],
      ["eu-1", /^Cluster eu-1/],
      ["email:1", /^E-mail 1, to /],
      ["SVC-1", "T-1: NDA with Acme"],
      ["Delivery 1", "Delivery 1"],
      ["onerror", `T-2: ${hostileTag}`],
      [device!.user_code, `Device ${device!.user_code} of demo-cli`],
    ] as const) {
      await page.getByRole("searchbox", { name: "Search" }).fill(words);
      // The previous results can still take the focus.
      await page.getByRole("searchbox", { name: "Search" }).press("Enter");
      await page.getByRole("link", { name: link }).waitFor();
    }
    await page.getByRole("searchbox", { name: "Search" }).fill("jo@acme.example");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "E-mails to jo@acme.example" }).click();
    await page.getByRole("heading", { name: "E-mails to jo@acme.example" }).waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "No results for “nobody”" }).waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("does not apply the clock modes that the arrow keys pass", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator);
    const settings: (string | null)[] = [];
    page.on("request", (request) => {
      if (request.method() === "PUT") settings.push(request.postData());
    });
    await page.getByLabel("Clock mode", { exact: true }).focus();
    // The first key opens the list.
    for (const key of ["ArrowDown", "End", "ArrowUp", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("contentinfo").getByText("Clock: 1 h per second").waitFor();
    assert.deepEqual(settings, ['{"mode":"real","speed":3600}']);
  });

  it("keeps what a user types right after a search", async (t) => {
    const page = await tab(t);
    await openConsole(page, await startTestEmulator(t));
    const typed = await page.evaluate(`(async () => {
      const field = document.querySelector("input[type=search]");
      field.value = "eu-1";
      const changed = new Promise((resolve) => addEventListener("hashchange", resolve));
      field.form.requestSubmit();
      for (let turn = 0; turn < 10; turn += 1) await undefined;
      field.value = "next";
      await changed;
      for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
      return field.value;
    })()`);
    assert.equal(typed, "next");
  });

  it("shows the command of a button, confirms a replacement and shows the emulator's error", async (t) => {
    const page = await tab(t, { permissions: ["clipboard-read", "clipboard-write"] });
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator, "#/snapshots");
    await page.getByRole("heading", { name: "No snapshots" }).waitFor();
    const dialog = page.getByRole("dialog", { name: "Equivalent command" });
    await press(page, "Command for: Save snapshot");
    await dialog.getByText("svc emulator snapshot save prepared").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "Name of the snapshot" }).fill("mine");
    await press(page, "Command for: Save snapshot");
    await dialog.getByRole("button", { name: "Copy" }).click();
    await dialog.getByText("Copied").waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), "svc emulator snapshot save mine");
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "Name of the snapshot" }).fill("my snap: bad/name");
    await page.getByText("The name must be letters, digits, dots, dashes and underscores").waitFor();
    await page.getByRole("textbox", { name: "Name of the snapshot" }).fill("mine");
    await page.keyboard.press("Enter");
    await waitForOutcome(page, "Saved as mine");
    await page.getByRole("button", { name: "Restore mine", exact: true }).waitFor();
    await page.getByRole("textbox", { name: "Name of the snapshot" }).fill("mine");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Replace mine?" }).getByRole("button", { name: "Replace mine" }).click();
    await waitForOutcome(page, "Saved as mine");
    await page.getByText("svc emulator snapshot save mine --replace").waitFor();
    await page.goto(getViewUrl(emulator, "#/faults"));
    await page.getByLabel("Count").fill("-3");
    await page.getByText("The count must be a whole number.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Add fault", exact: true }).isDisabled(), true);
    await page.getByLabel("Count").fill("1");
    await page.getByLabel("Operation").fill("nonsense");
    await page.locator('.how[title*="--operation nonsense"]').waitFor();
    await page.keyboard.press("Enter");
    await waitForOutcome(page, "operation: nonsense not found");
  });
});
