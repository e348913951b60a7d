import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDeferred } from "../../src/base/concurrency.ts";
import { createTestBrowser } from "../support/browser.ts";
import { createSender, startTestEmulator } from "../support/emulator.ts";
import { getViewUrl, openConsole, startFailingWebhookStory } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();

describe("request list of the console", { skip }, () => {
  it("lists a user's changes through the control plane with links to traces", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await emulator.control("GET", "clock");
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    const { items } = (await emulator.control("GET", "requests?operation=clock.advance")).body as {
      items: { id: number }[];
    };
    const { id } = items[0]!;
    // The page holds the newest requests and loads older ones such as this from the emulator.
    await openConsole(page, emulator, `#/timeline?trace=request:${id}`);
    await page
      .getByRole("dialog")
      .getByRole("link", { name: `request:${id}` })
      .click();
    await page.getByRole("heading", { name: `Request ${id}`, level: 1 }).waitFor();
    await page.getByText("clock.advance, ").waitFor();

    await page.goto(getViewUrl(emulator, "#/requests"));
    const rows = page.getByRole("list", { name: "Requests", exact: true }).getByRole("listitem");
    await page.getByText("/api/v2.1/public/webhooks/").waitFor();
    assert.equal(await rows.filter({ hasText: "/_emulator/" }).count(), 0, "programs ask services");
    await page.getByRole("link", { name: /^Control plane/ }).click();
    await rows.filter({ hasText: "POST /_emulator/clock/advance" }).getByText(String(id), { exact: true }).waitFor();
    assert.equal(await rows.filter({ hasText: "GET /_emulator/" }).count(), 0, "what only reads is left out");
    await page.getByRole("button", { name: "Clear log", exact: true }).click();
    const consequence = page.locator("dialog[aria-describedby=consequence] #consequence");
    await consequence.getByText("All requests and their findings will be deleted.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await rows.filter({ hasText: "POST /_emulator/clock/advance" }).nth(1).waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("limits the list to a workspace, and shows the workspace of a request", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const [first, second] = (await emulator.control("GET", "workspaces")).body as readonly Record<string, string>[];
    for (const [workspace, contract] of [
      [first!, "T-1"],
      [second!, "T-2"],
    ] as const) {
      const { url } = emulator.clusters.find(({ id }) => id === workspace.cluster_id)!;
      const { client_id = "", client_secret = "" } = workspace;
      const api = createSender(url, { "client-id": client_id, "client-secret": client_secret });
      await api("GET", `/api/v2.1/public/contracts/${contract}/status`);
    }
    await openConsole(page, emulator, "#/requests");
    const rows = page.getByRole("list", { name: "Requests", exact: true }).getByRole("listitem");
    await rows.nth(1).waitFor();
    await page.getByLabel("Workspace").selectOption(second!.name!);
    await rows.filter({ hasText: "T-1" }).waitFor({ state: "detached" });
    assert.equal(await rows.count(), 1);
    await page.waitForURL(getViewUrl(emulator, `#/requests?workspace=${second!.id}`));
    await emulator.api("GET", "/api/v2.1/public/contracts/T-3/status");
    await emulator.api("GET", "/api/v2.1/public/auth/users/");
    await page.getByRole("link", { name: "Failed" }).click();
    await rows.filter({ hasText: "T-2" }).waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByLabel("Workspace").selectOption("All workspaces");
    await rows.filter({ hasText: "T-3" }).waitFor();
    assert.equal(await rows.count(), 3);
    await rows.filter({ hasText: "T-2" }).getByRole("link").click();
    await page.getByRole("heading", { name: /^Request \d+$/, level: 1 }).waitFor();
    const workspace = page.locator("dt", { hasText: /^Workspace$/ }).locator("xpath=following-sibling::dd[1]");
    await workspace.filter({ hasText: second!.name! }).waitFor();
    await page.getByText(`eval "$(svc emulator env --workspace ${second!.id})"`).waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("shows the findings of a rejected request without claiming that it was accepted", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await emulator.router("GET", "/router/v1/crm_a/iframe");
    await openConsole(page, emulator, "#/requests/1");
    await page.getByText("crm-a.iframe failed: bad-crm-a-signature.").waitFor();
    await page.getByText("crm-a-signature-refused").waitFor();
    assert.deepEqual(await page.getByRole("heading", { level: 2 }).allTextContents(), [
      "Findings",
      "Repeat",
      "Details",
    ]);
  });

  it("counts requests only once they are read", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await emulator.api("GET", "/api/v2.1/public/contracts/T-3/status");
    const release = createDeferred();
    await page.route(/_emulator\/requests\?/, (route) => release.promise.then(() => route.continue()));
    await openConsole(page, emulator, "#/requests");
    const filters = page.getByRole("group", { name: "Filter requests" }).getByRole("link");
    await filters.nth(0).waitFor();
    const names = ["Services", "Control plane", "Failed", "With findings", "Unknown paths"];
    assert.deepEqual(
      (await filters.allTextContents()).map((text) => text.trim()),
      names,
    );
    release.resolve();
    await page.getByRole("link", { name: "Failed 1" }).waitFor();
    // The sign-in of the console counts as two.
    const counts = [1, 2, 1, 0, 0];
    assert.deepEqual(
      await filters.allTextContents(),
      names.map((name, i) => `${name} ${counts[i]}`),
    );
    assert.deepEqual(page.complaints, []);
  });

  it("shows the current state even if an earlier state has the same request numbers", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await emulator.control("PUT", "snapshots/a");
    for (let count = 0; count < 3; count += 1) await emulator.router("GET", "/");
    await emulator.control("POST", "snapshots/a/restore", { body: {} });
    await emulator.router("GET", "/router/v1/clusters");
    await openConsole(page, emulator, "#/requests");
    const link = page.getByRole("link", { name: /^2 ?GET \/router\/v1\/clusters/ });
    await link.waitFor();
    assert.equal(await page.getByText(/^The newest/).count(), 0, "nothing is missing");
    await link.click();
    // The list contains the same text until the page of the request replaces it.
    await page.waitForURL(/#\/requests\/2$/);
    await link.waitFor({ state: "detached" });
    await page.getByText("GET /router/v1/clusters", { exact: true }).waitFor();
  });

  it("loads a request by its number or reports an unknown number", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await emulator.control("GET", "clock");
    await openConsole(page, emulator, "#/requests/1");
    await page.getByText("clock.show, ").waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill("1");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Request 1" }).waitFor();
    await page.goto(getViewUrl(emulator, "#/requests/987654"));
    await page.getByRole("heading", { name: "Request not found" }).waitFor();
    await page.goto(getViewUrl(emulator, "#/requests/abc"));
    await page.getByText("Invalid request ID.").waitFor();
    assert.deepEqual(
      page.complaints.filter((words) => !words.includes("404")),
      [],
    );
  });
});
