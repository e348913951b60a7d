import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Route } from "playwright-core";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { createDraftContract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { createTokenAddress, getViewUrl, openConsole, startFailingWebhookStory } from "./console-scene.ts";
import { startRelay } from "./relay.ts";

const { skip, tab } = createTestBrowser();

const events = /_emulator\/events/;

/** Holds back matching requests, or responses, until they are released. */
async function hold(page: Tab, path: RegExp, responses = false) {
  const held: Route[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let report = () => {};
  const first = new Promise<void>((resolve) => {
    report = resolve;
  });
  await page.route(path, async (route) => {
    held.push(route);
    if (!responses) {
      report();
      await released;
      return route.continue().catch(() => undefined);
    }
    const response = await route.fetch();
    report();
    await released;
    return route.fulfill({ response });
  });
  return { first, release };
}

describe("console behind a proxy", { skip }, () => {
  it("stays usable if a proxy holds back the stream of events", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const stream = await hold(page, events);
    await page.goto(await createConsoleAddress(emulator));
    const foot = page.getByRole("contentinfo");
    await foot.getByText("No live updates. Reloading every 5 seconds").waitFor();
    assert.equal(await page.getByText(/does not respond|Start it again|last known time/).count(), 0);
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await foot.getByText("Now 03:09:05").waitFor();
    await page.locator(".now time", { hasText: "03:09:05" }).waitFor();
    await page.goto(getViewUrl(emulator, "#/contracts"));
    await page.getByRole("link", { name: /^T-1/ }).waitFor();
    await createDraftContract(emulator.api);
    await page.getByRole("link", { name: /^T-2/ }).waitFor();
    await page.unroute(events);
    stream.release();
    await foot.getByText("No live updates").waitFor({ state: "detached" });
  });

  it("shows what changed between its first requests and the beginning of its stream", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const stream = await hold(page, events);
    await page.goto(await createConsoleAddress(emulator));
    await page.getByRole("region", { name: "Webhook 1: Hooks" }).getByRole("toolbar").waitFor();
    await page.goto(getViewUrl(emulator, "#/deliveries"));
    await createDraftContract(emulator.api);
    // An advance ends after the attempts in progress.
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    stream.release();
    await page.getByRole("link", { name: /^2 ?Contract created/i }).waitFor();
    await page.unrouteAll({ behavior: "wait" });
  });

  it("prefers an event to a response that is older than the event", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/deliveries");
    await page.getByRole("link", { name: /^1 ?Contract created/i }).waitFor();
    const reads = await Promise.all(
      [/_emulator\/deliveries\?/, /_emulator\/requests\?/, /_emulator\/clock$/].map((path) => hold(page, path, true)),
    );
    // A replaced state makes the page read everything again.
    await emulator.control("PUT", "snapshots/prepared");
    await emulator.control("POST", "snapshots/prepared/restore");
    await Promise.all(reads.map(({ first }) => first));
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    await page.getByRole("link", { name: /^2 ?Contract created/i }).waitFor();
    await page.locator(".now time", { hasText: "03:09:05" }).waitFor();
    const last = page.waitForResponse(/_emulator\/requests\?.*service=emulator/);
    for (const { release } of reads) release();
    await last;
    await page.goto(getViewUrl(emulator, "#/requests"));
    await page
      .getByRole("link", { name: /POST.*contracts/ })
      .first()
      .waitFor();
    await page.goto(getViewUrl(emulator, "#/deliveries"));
    assert.equal(await page.getByRole("list", { name: "Deliveries" }).getByRole("listitem").count(), 2);
    await page.locator(".now time", { hasText: "03:09:05" }).waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("shows no delivery of a replaced state, whose events arrive together", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const relay = await startRelay(t, emulator.routerUrl);
    await emulator.control("PUT", "snapshots/prepared");
    const address = (await createConsoleAddress(emulator)).replace(emulator.routerUrl, relay.url);
    await page.goto(address);
    await page.getByRole("region", { name: "Webhook 1: Hooks" }).getByRole("toolbar").waitFor();
    await page.goto(address.replace(/#.*/, "#/deliveries"));
    const deliveries = page.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
    await deliveries.first().waitFor();
    const resumed = await hold(page, events);
    relay.cut();
    relay.lead(emulator.routerUrl);
    await resumed.first;
    for (const _ of [2, 3]) await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    await emulator.control("POST", "snapshots/prepared/restore");
    resumed.release();
    await page.getByText("Reconnecting").waitFor({ state: "detached" });
    await createDraftContract(emulator.api);
    await page.getByRole("link", { name: /^2 ?Contract created/i }).waitFor();
    assert.equal(await deliveries.count(), 2);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("says that an action had no response while the stream does not arrive", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await hold(page, events);
    await page.goto(await createConsoleAddress(emulator));
    const foot = page.getByRole("contentinfo");
    await foot.getByText("No live updates").waitFor();
    await page.route("**/clock/advance", (route) => route.abort(), { times: 1 });
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await foot.getByText("The emulator responds again. Check whether the last action took effect").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("does not take the error page of a proxy for a response of the emulator", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await openConsole(page, emulator);
    const foot = page.getByRole("contentinfo");
    const badGateway = { status: 504, contentType: "text/html", body: "<h1>Gateway Time-out</h1>" };
    await page.route("**/clock/advance", (route) => route.fulfill(badGateway), { times: 1 });
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await foot.getByText("The emulator responds again. Check whether the last action took effect").waitFor();
    assert.equal(await foot.getByText("responded with status").count(), 0);
  });

  it("shows that a proxy responded to a read with an error page", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    const badGateway = { status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" };
    await page.route(/_emulator\/contracts\?/, (route) => route.fulfill(badGateway));
    await openConsole(page, emulator, "#/contracts");
    await page.getByText("A proxy responded with status 502 instead of the emulator.").waitFor();
  });

  it("names the address instead of a command if the emulator is on another machine", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t, { publicUrl: "http://sandbox.example:8443/team" });
    const remote = "http://sandbox.example:8443/team/_emulator";
    await page.route(`${remote}/**`, async (route) => {
      const url = route.request().url().replace(remote, emulator.controlUrl);
      const headers = { ...route.request().headers(), host: "sandbox.example:8443" };
      if (events.test(url)) return route.abort();
      return route.fulfill({ response: await route.fetch({ url, headers }) });
    });
    await page.goto((await createConsoleAddress(emulator)).replace(emulator.controlUrl, remote));
    await page.getByText("2031-01-02").first().waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.route(`${remote}/**`, (route) => route.abort());
    const foot = page.getByRole("contentinfo");
    await foot.getByText("Check the connection to sandbox.example:8443.").waitFor();
    assert.equal(await foot.getByText("svc emulator start").count(), 0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("follows the stream of a new session, not that of the earlier one", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.goto(await createTokenAddress(emulator, "admin"));
    await page.getByText("2031-01-02").first().waitFor();
    const reopened = page.waitForRequest(events);
    const other = await page.context().newPage();
    await other.goto(await createTokenAddress(emulator, "read"));
    await other.getByText("Signed in with role read").waitFor();
    const { token } = (await page.evaluate(`({ token: localStorage.getItem("svc-session") })`)) as { token: string };
    assert.equal((await reopened).headers().authorization, `Bearer ${token}`);
  });
});
