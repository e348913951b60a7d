import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { getViewUrl, openConsole, startFailingWebhookStory } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

describe("keyboard focus in the console", { skip }, () => {
  it("stays on the button that enables a webhook after its disabling", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/webhooks");
    await page.getByRole("button", { name: "Disable Hooks", exact: true }).focus();
    for (const name of ["Disable Hooks", "Enable Hooks", "Disable Hooks"]) {
      await page.locator(`button:focus[aria-label="${name}"]`).press("Enter");
    }
  });

  it("stays near a button that its own action disables", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/requests");
    await page.getByRole("button", { name: "Clear log", exact: true }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Clear log" }).press("Enter");
    await page.getByRole("heading", { name: "No requests yet" }).waitFor();
    await page.locator('button:focus[aria-label="Command for: Clear log"]').waitFor();
  });

  it("stays on the page of a contract while traces are followed", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/contracts/T-1?trace=T-1");
    await page.getByRole("link", { name: "event:3" }).click();
    await page.getByRole("heading", { name: "Why event 3" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForURL(getViewUrl(emulator, "#/contracts/T-1"));
  });

  it("does not press the next button while a key is held", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/contracts/T-1");
    await page.getByRole("button", { name: "Send", exact: true }).focus();
    await page.keyboard.down("Enter");
    await page.getByRole("status").getByText("T-1 is SIGN").waitFor();
    await page.locator("button:focus").getByText("Unmark for execution").waitFor();
    for (let count = 0; count < 3; count += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.getByRole("button", { name: "Sign as Jo Doe", exact: true }).press("Enter");
    await page.getByRole("status").getByText("T-1 is EXECUTED").waitFor();
    const { items } = (await emulator.control("GET", "requests?operation=emulator-contracts.unmark")).body as {
      items: readonly unknown[];
    };
    assert.deepEqual(items, []);
  });
});
