import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { createDraftContract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { listViolations, listViolationsByScheme } from "./barriers.ts";
import {
  createTokenAddress,
  getViewUrl,
  openConsole,
  startFailingWebhookStory,
  startFullStory,
} from "./console-scene.ts";
import { findIllegibleParts } from "./legible.ts";

const { skip, tab } = createTestBrowser();

/** Every view with a text that shows that the view is rendered. */
const views = [
  ["#/", "responded 503"],
  ["#/timeline/1", "Webhook 1"],
  ["#/webhooks/1", "Send test event"],
  ["#/workspaces", "Signing key"],
  ["#/deliveries?workspace=1", "retrying"],
  ["#/contracts", "HOLD"],
  ["#/contracts/T-2", "People"],
  ["#/contracts/T-3", "⟨U\\+202E⟩"],
  ["#/deliveries", "retrying"],
  ["#/deliveries/1", "signature matches"],
  ["#/deliveries/1?trace=delivery:1", "Why delivery 1"],
  ["#/requests", "/router/v1/clustrs"],
  ["#/emails", "jo@acme.example"],
  ["#/routing/ada@northwind.example", "→"],
  ["#/devices", "demo-cli"],
  ["#/faults", "tamper"],
  ["#/snapshots/prepared", "difference"],
  ["#/search/2", "Webhook|T-2|Delivery"],
  ["#/nowhere", "This page does not exist"],
] as const;

/** The axis labels that are cut off at the left or overlap the previous label. */
const cutLabels = `(() => {
  let end = document.querySelector(".canvas").getBoundingClientRect().left;
  const ticks = [...document.querySelectorAll(".axis .tick")].map((tick) => [tick.textContent, tick.getBoundingClientRect()]);
  return ticks
    .sort(([, a], [, b]) => a.left - b.left)
    .flatMap(([text, { left, right }]) => {
      const isCut = left < end;
      end = right;
      return isCut ? [text] : [];
    });
})()`;

async function checkView(page: Tab): Promise<void> {
  for (const width of [768, 320, 390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await findIllegibleParts(page), [], `${page.url()}, ${width} px`);
    if (width === 768 || width === 320) continue;
    assert.deepEqual(await listViolationsByScheme(page), { light: [], dark: [] }, `${page.url()}, ${width} px`);
  }
}

describe("console view", { skip }, () => {
  it("is accessible in small and wide windows, light and dark", async (t) => {
    // The page's policy would block the injected checks.
    const page = await tab(t, { bypassCSP: true });
    const { emulator } = await startFullStory(t);
    await openConsole(page, emulator);
    for (const [hash, text] of views) {
      await page.goto(getViewUrl(emulator, hash));
      await page.getByText(new RegExp(text)).first().waitFor();
      await checkView(page);
    }
  });

  it("shows the longest status of a delivery inside its row at any width", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await createDraftContract(emulator.api);
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT3H" } });
    await openConsole(page, emulator, "#/deliveries");
    for (const width of [320, 390, 768, 1010, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.getByText("skipped: webhook disabled").nth(2).waitFor();
      assert.deepEqual(await findIllegibleParts(page), [], `${width} px`);
    }
  });

  it("shows every name and address in full on demand at any width", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const title = `Ein Empfänger 🦄 mit einem langen Namen ${"Empfaengerohneunterbrechung".repeat(8)}`.slice(0, 200);
    const url = `http://127.0.0.1:9/${"very-long-path-".repeat(12)}?${"parameter".repeat(10)}=1`;
    const body = { title, url, only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    await createDraftContract(emulator.api, { contract_name: "🦄 Rahmenvertrag".repeat(15) });
    await emulator.control("POST", "clock/advance", { body: { next: true } });
    await emulator.control("PUT", `snapshots/${"s".repeat(64)}`);
    await emulator.control("POST", "workspaces", { body: { name: "Legal department".repeat(12) } });
    await openConsole(page, emulator);
    for (const [hash, text] of [
      ["#/", title],
      ["#/timeline/2", title],
      ["#/webhooks", title],
      ["#/contracts", "Rahmenvertrag"],
      ["#/contracts/T-2", "People"],
      ["#/deliveries/3", "Attempts"],
      ["#/deliveries/3?trace=delivery:3", "Why delivery 3"],
      ["#/requests", "/api/v2.1/public/contracts/"],
      ["#/snapshots", "s".repeat(64)],
      [`#/search/${"s".repeat(64)}`, "Snapshot sss"],
    ] as const) {
      await page.goto(getViewUrl(emulator, hash));
      await page.getByText(text).first().waitFor();
      for (const width of [320, 390, 768, 1024, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await findIllegibleParts(page), [], `${hash}, ${width} px`);
      }
      await page.setViewportSize({ width: 768, height: 800 });
      const track = await page.locator(".timeline").evaluateAll(([box]) => {
        const heads = [...(box?.querySelectorAll(".track-head") ?? [])];
        return heads.filter((head) => head.clientWidth > box.clientWidth).length;
      });
      assert.equal(track, 0, "what a row of the timeline is called stands in sight");
    }
  });

  it("shows the beginning of a long name in a script from right to left", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await createDraftContract(emulator.api, { contract_name: `בהתחלה${" סוף".repeat(100)}` });
    await openConsole(page, emulator, "#/contracts");
    await page.getByText("בהתחלה").waitFor();
    const isFirstLetterVisible = await page.evaluate(`(() => {
      const title = document.querySelector(".row .title");
      const range = document.createRange();
      const text = document.createTreeWalker(title, NodeFilter.SHOW_TEXT).nextNode();
      range.setStart(text, 0);
      range.setEnd(text, 1);
      const [letter, box] = [range.getBoundingClientRect(), title.getBoundingClientRect()];
      return letter.left >= box.left && letter.right <= box.right + 1;
    })()`);
    assert.equal(isFirstLetterVisible, true);
  });

  it("shows all axis labels, including dates, without overlap", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    for (const [minutes, contracts] of [
      [1, 3],
      [1_440, 4],
    ] as const) {
      await emulator.clock.advance({ by: minutes * 60_000 });
      for (let i = 0; i < contracts; i += 1) {
        await emulator.clock.advance({ by: 2_000 });
        await createDraftContract(emulator.api);
      }
    }
    await page.locator(".axis .day").first().waitFor();
    assert.deepEqual(await page.evaluate(cutLabels), []);
  });

  it("does not count a delivery as undelivered before its first attempt", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const webhook = { title: "Late", url: "http://127.0.0.1:9/hooks", only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    await emulator.control("POST", "faults", { body: { direction: "outgoing", effect: "delay" } });
    await createDraftContract(emulator.api);
    await openConsole(page, emulator, "#/deliveries");
    await page.getByRole("link", { name: "Scheduled 1", exact: true }).waitFor();
    await page.getByRole("link", { name: "Deliveries", exact: true }).waitFor();
    await page.getByRole("link", { name: "Undelivered 0", exact: true }).click();
    await page.getByRole("heading", { name: "No undelivered deliveries" }).waitFor();
  });

  it("shows the date of a failure before today", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await emulator.control("POST", "clock/advance", { body: { by: "P1D" } });
    await page.goto(await createConsoleAddress(emulator));
    await page.getByRole("region", { name: "Hooks", exact: true }).locator("summary").click();
    await page
      .getByText(
        "Failing since 2031-01-02 03:04:05, first with CONTRACT_CREATED T-1: responded 503. Last attempt: the receiver responded 503. Disabled after 6 consecutive failures, at 2031-01-02 05:39:05 (attempt:1.6).",
      )
      .waitFor();
  });

  it("marks the chosen and the disabled also with the colors of the user", async (t) => {
    const page = await tab(t);
    await page.emulateMedia({ forcedColors: "active" });
    const { emulator } = await startFailingWebhookStory(t);
    await page.goto(await createTokenAddress(emulator, "read"));
    const areDifferent = async (property: string, ...selectors: readonly [string, string]) => {
      for (const selector of selectors) await page.locator(selector).first().waitFor();
      const [one, other] = selectors.map(
        (selector) => `getComputedStyle(document.querySelector("${selector}")).${property}`,
      );
      assert.equal(await page.evaluate(`${one} !== ${other}`), true, selectors[0]);
    };
    await areDifferent("color", "button.act", "button.how");
    await areDifferent("backgroundColor", ".now-line", ".canvas");
    await page.goto(getViewUrl(emulator, "#/deliveries?show=lost"));
    await areDifferent("borderColor", "a.chip[aria-current]", "a.chip:not([aria-current])");
    await page.goto(getViewUrl(emulator, "#/webhooks/1"));
    await areDifferent("borderLeftWidth", "li.chosen", "main");
  });

  it("explains an empty list and how to fill it", async (t) => {
    const page = await tab(t, { bypassCSP: true });
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator);
    for (const [hash, title] of [
      ["#/", "No webhooks yet"],
      ["#/webhooks", "No webhooks"],
      ["#/webhooks/3", "Not found: webhook 3"],
      ["#/contracts", "No contracts yet"],
      ["#/deliveries", "No deliveries yet"],
      ["#/requests", "No requests yet"],
      ["#/emails", "No e-mails yet"],
      ["#/devices", "No devices are waiting"],
      ["#/faults", "No faults"],
      ["#/snapshots", "No snapshots"],
      ["#/devices/XYZ", "Not found: device with the code XYZ"],
      ["#/faults/3", "Not found: fault 3"],
      ["#/snapshots/nope", "Not found: snapshot nope"],
      ["#/deliveries/abc", "Delivery abc"],
    ] as const) {
      await page.goto(getViewUrl(emulator, hash));
      await page.getByRole("heading", { name: title }).waitFor();
      assert.deepEqual(await listViolations(page), [], hash);
    }
  });

  it("shows how to sign in and continues once another tab is signed in", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.goto(getViewUrl(emulator, "#/snapshots"));
    await page.getByText("svc emulator open").waitFor();
    const block = await page.getByRole("main").boundingBox();
    const last = await page.getByText("This page then continues automatically.").boundingBox();
    assert.ok(last!.y - block!.y < 250, "the lines stand together");
    const otherPage = await page.context().newPage();
    await openConsole(Object.assign(otherPage, { complaints: [] }), emulator);
    await page.getByRole("heading", { name: "Snapshots", exact: true }).waitFor();
  });
});
