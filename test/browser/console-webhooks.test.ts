import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { startCertifyConsole } from "../support/cli/certify-console.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { createSentContract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";
import { createTokenAddress, getViewUrl, openConsole, startFailingWebhookStory } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

describe("webhooks and workspaces in the console", { skip }, () => {
  it("sends a test event to one webhook, then disables and enables the webhook", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const [hooks, otherReceiver] = [await startReceiver(t), await startReceiver(t)];
    for (const [title, url] of [
      ["Hooks", hooks.url],
      ["Other", otherReceiver.url],
    ]) {
      const body = { title, url, only_for_activities: ["CONTRACT_CREATED", "CONTRACT_SIGNED"] };
      await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    }
    await openConsole(page, emulator, "#/webhooks");
    const card = page.getByRole("listitem").filter({ hasText: "Hooks" });
    const foot = page.getByRole("contentinfo");
    await card.getByLabel("Activity of the test event for Hooks").selectOption("CONTRACT_SIGNED");
    await card.getByRole("button", { name: "Send test event to Hooks", exact: true }).click();
    await foot.getByText("Delivery 1: 200").waitFor();
    await foot.getByText("svc webhooks trigger CONTRACT_SIGNED --webhook 1").waitFor();
    assert.deepEqual([hooks.received.length, otherReceiver.received.length], [1, 0]);
    await card.getByRole("link", { name: "1 delivery" }).waitFor();
    hooks.respond(500);
    await card.getByRole("button", { name: "Send test event to Hooks", exact: true }).click();
    await foot.locator(".bad").getByText("Delivery 2: 500").waitFor();
    await card.getByRole("button", { name: "Disable Hooks", exact: true }).click();
    await foot.getByText("Hooks is disabled").waitFor();
    await card.getByRole("button", { name: "Send test event to Hooks", exact: true }).click();
    await foot.getByText("Delivery 3: skipped: webhook disabled").waitFor();
    await card.getByRole("button", { name: "Enable Hooks", exact: true }).click();
    await foot.getByText("Hooks is enabled").waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("shows a webhook that was just created, disabled or deleted", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator, "#/webhooks");
    await page.getByRole("heading", { name: "No webhooks" }).waitFor();
    const webhook = { title: "New", url: "http://127.0.0.1:9/hooks", only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    const card = page.getByRole("main").getByRole("listitem");
    await card.getByText("active", { exact: true }).waitFor();
    await emulator.control("POST", "webhooks/1/disable");
    await card.getByText("disabled by a user").waitFor();
    await emulator.api("DELETE", "/api/v2.1/public/webhooks/1");
    await page.getByRole("heading", { name: "No webhooks" }).waitFor();
  });

  it("scrolls to the webhook in the address", async (t) => {
    const page = await tab(t);
    const { emulator, hooks } = await startFailingWebhookStory(t);
    for (let number = 2; number <= 20; number += 1) {
      const body = { title: `Hook ${number}`, url: hooks.url, only_for_activities: ["CONTRACT_CREATED"] };
      await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    }
    const requireShown = async (title: string) => {
      const card = page.locator(".chosen", { hasText: title });
      await card.waitFor();
      const { y, height } = (await card.boundingBox())!;
      assert.ok(y >= 96 && y + height <= 720, `${title} is at ${y}`);
    };
    await openConsole(page, emulator, "#/webhooks/19");
    await requireShown("Hook 19");
    await page.reload();
    await requireShown("Hook 19");
    await page.goto(getViewUrl(emulator, "#/webhooks/3"));
    await requireShown("Hook 3");
    await page.goBack();
    await requireShown("Hook 19");
  });

  it("does not suggest enabling a deleted webhook", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await emulator.api("DELETE", "/api/v2.1/public/webhooks/1");
    await openConsole(page, emulator, "#/deliveries/1");
    await page.getByText("The attempt at 03:09:05 is skipped, because the webhook was deleted.").waitFor();
    assert.deepEqual(await page.locator("li.planned > *").allInnerTexts(), [
      "skipped",
      "attempt 2 of 7",
      "+5 min",
      "03:09:05",
    ]);
  });

  it("shows a secret on demand, except to a read-only token", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const [{ hmac_key, client_secret }] = (await emulator.control("GET", "workspaces")).body as [
      Record<string, string>,
    ];
    await openConsole(page, emulator, "#/workspaces");
    const item = page.getByRole("listitem").filter({ hasText: "Northwind Legal" });
    await item.getByRole("button", { name: "Show signing key" }).waitFor();
    const copyButtons = item.getByRole("button", { name: /^Copy \w/ });
    assert.deepEqual(await copyButtons.allTextContents(), ["Copy client ID", "Copy client secret", "Copy signing key"]);
    assert.equal((await page.content()).includes(hmac_key!), false);
    await item.getByRole("button", { name: "Show signing key" }).click();
    await item.getByText(hmac_key!).waitFor();
    assert.equal((await page.content()).includes(client_secret!), false);

    await page.goto("about:blank");
    await page.goto(await createTokenAddress(emulator, "read"));
    await page.goto(getViewUrl(emulator, "#/workspaces"));
    await item.getByText("Hidden: a token with the role read shows no secrets.").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /^Show/ }).count(), 0);
    await page.goto(getViewUrl(emulator, "#/deliveries/1"));
    await page.getByText("Signature check unavailable: a token with the role read shows no keys.").waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("limits lists to a workspace and preserves the limit in links", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/contracts");
    const rows = page.getByRole("list", { name: "Contracts" }).getByRole("listitem");
    await rows.first().waitFor();
    for (const heading of ["Contract", "Name", "Cluster, workspace", "Status", "Last change"]) {
      await page.getByText(heading, { exact: true }).waitFor();
    }
    await rows.getByText("Northwind Legal").waitFor();
    await page.getByLabel("Workspace").selectOption("Fabrikam Sales");
    await page.getByRole("heading", { name: "No contracts in this workspace" }).waitFor();
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.getByRole("heading", { name: "No deliveries" }).waitFor();
    await page.getByRole("link", { name: "All 0", exact: true }).waitFor();
    await page.getByLabel("Workspace").selectOption("Northwind Legal");
    await page.getByRole("link", { name: /Contract created/i }).waitFor();
    await page.waitForURL(getViewUrl(emulator, "#/deliveries?workspace=1"));
    await page.getByLabel("Workspace").selectOption("All workspaces");
    await page.waitForURL(getViewUrl(emulator, "#/deliveries"));
    await createSentContract(emulator.api);
    await page.goto(getViewUrl(emulator, "#/emails?workspace=3"));
    await page.getByRole("heading", { name: "No e-mails in this workspace" }).waitFor();
    await page.goto(getViewUrl(emulator, "#/emails?workspace=99"));
    const filter = page.getByLabel("Workspace");
    await filter.getByText("workspace 99 (not found)").waitFor({ state: "attached" });
    assert.equal(await filter.inputValue(), "99");
    await filter.selectOption("All workspaces");
    await page.getByText("Signature requested: ").waitFor();
  });

  it("shows a run of svc webhooks certify and sends more events to its receiver", async (t) => {
    const page = await tab(t);
    const cwd = await createTestFolder(t);
    const hooks = await startReceiver(t);
    await writeFile(join(cwd, "key"), Buffer.alloc(32, 7).toString("base64"));
    const argv = ["--to", hooks.url, "--hmac-key-file", "key", "--only", "signature.missing,outage"];
    const { address, interrupt, completion } = await startCertifyConsole(argv, cwd);
    t.after(interrupt);
    await page.goto(address);
    await page.getByRole("toolbar", { name: "Attempts of certify" }).getByRole("button").nth(5).waitFor();
    await page.getByRole("link", { name: "Deliveries" }).click();
    for (const label of ["genuine", "signature.missing"])
      await page.getByText(`to certify · ${label}`).first().waitFor();
    await page.getByText("to certify · signature.missing").click();
    await page.getByText("for signature.missing").waitFor();
    assert.deepEqual(await page.getByText("X-SVC-WEBHOOK-CONTENT-HASH", { exact: true }).count(), 0);
    const before = hooks.received.length;
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByRole("button", { name: "Send test event to certify", exact: true }).click();
    await page
      .getByRole("contentinfo")
      .getByText(/Delivery \d+: 200/)
      .waitFor();
    assert.equal(hooks.received.length, before + 1);
    interrupt();
    await completion;
  });

  it("shows the text of an email", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    await openConsole(page, emulator, "#/emails");
    await page.getByText("Signature requested: NDA with Acme").waitFor();
    await page.getByText("Northwind Legal asks you to sign “NDA with Acme”.").waitFor();
  });

  it("positions the text of a webhook without deliveries above the current-time line", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const body = { title: "Idle", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_VOIDED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body });
    const activity = "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT";
    await emulator.control("POST", "activities", { body: { activity } });
    await openConsole(page, emulator);
    await page.setViewportSize({ width: 390, height: 800 });
    const sentence = page.locator(".nothing", { hasNotText: "Loading" });
    await sentence.waitFor();
    const before = await sentence.boundingBox();
    const hidden = await page.evaluate(`(() => {
      const { scrollWidth, clientWidth } = document.querySelector(".nothing");
      return scrollWidth - clientWidth;
    })()`);
    assert.ok(before!.x >= 0 && before!.x + before!.width <= 390 && hidden === 0, "the whole sentence is in sight");
    // The texts that the line would cross if it were above them.
    const crossed = await page.evaluate(`(() => {
      const { left } = document.querySelector(".now-line").getBoundingClientRect();
      const texts = [...document.querySelectorAll(".track-head, .nothing")].map((text) => text.getBoundingClientRect());
      const met = texts.filter((text) => text.left < left && left < text.right);
      const isOver = ({ top, bottom }) => document.elementFromPoint(left, (top + bottom) / 2).matches(".now-line");
      return [met.length > 0, met.filter(isOver).length];
    })()`);
    assert.deepEqual(crossed, [true, 0]);
    await page.evaluate(`document.querySelector(".timeline").scrollTo(9999, 0)`);
    assert.deepEqual(await sentence.boundingBox(), before);
  });
});
