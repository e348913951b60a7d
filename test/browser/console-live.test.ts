import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { createDraftContract } from "../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../support/emulator.ts";
import { getViewUrl, openConsole, startFailingWebhookStory } from "./console-scene.ts";
import { startRelay } from "./relay.ts";

const { skip, tab } = createTestBrowser();

/** Collects the stream requests of all tabs of a browser from now on. */
function recordEventStreams(page: Tab): { readonly requests: string[] } {
  const requests: string[] = [];
  page.context().on("request", (request) => {
    if (new URL(request.url()).pathname === "/_emulator/events") requests.push(request.url());
  });
  return { requests };
}

/** The text of the focused element. */
const getFocusedText = (page: Tab): Promise<string> => page.evaluate("document.activeElement.textContent.trim()");

/** Records from now on whether the page claims that the emulator does not respond, or blocks a button for that. */
async function recordClaims(page: Tab): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(`
    claims = [];
    new MutationObserver(() => {
      if (/does not respond|Start it again/.test(document.body.innerHTML)) claims.push(document.body.innerText);
      if (document.querySelector(".act[aria-disabled=true]")) claims.push("blocked button");
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });`);
  return () => page.evaluate("claims");
}

describe("live updates of the console", { skip }, () => {
  it("shares one stream between seven tabs and survives the closing of its tab", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const streams = recordEventStreams(page);
    await openConsole(page, emulator, "#/deliveries");
    const otherPages = await Promise.all(Array.from({ length: 6 }, () => page.context().newPage()));
    for (const otherPage of otherPages) await otherPage.goto(getViewUrl(emulator, "#/deliveries"));
    const rows = (anyPage: typeof page) => anyPage.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
    for (const openPage of [page, ...otherPages])
      await rows(openPage as Tab)
        .nth(0)
        .waitFor();
    await createDraftContract(emulator.api);
    for (const openPage of [page, ...otherPages]) {
      await openPage.getByRole("link", { name: /^2 ?Contract created/i }).waitFor();
      assert.equal(await rows(openPage as Tab).count(), 2);
    }
    assert.equal(streams.requests.length, 1);

    await page.close();
    await createDraftContract(emulator.api);
    for (const page of otherPages) {
      await page.getByRole("link", { name: /^3 ?Contract created/i }).waitFor();
      assert.equal(await rows(page as Tab).count(), 3);
    }
    assert.equal(streams.requests.length, 2);
    assert.match(streams.requests[1]!, /\?after=/);
  });

  it("shows no “empty” message while the deliveries are loading", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/\/_emulator\/deliveries\?/, async (route) => {
      await released;
      await route.continue();
    });
    await page.goto(await createConsoleAddress(emulator));
    const track = page.getByRole("region", { name: "Webhook 1: Hooks" });
    await track.getByText("Loading…").waitFor();
    assert.equal(await page.getByText(/Nothing was sent yet|Everything arrived|Nothing fails/).count(), 0);
    release();
    await track.getByRole("toolbar").waitFor();
  });

  it("reloads all data when the state is replaced", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/deliveries");
    await page.getByRole("link", { name: /Contract created/i }).waitFor();
    await emulator.control("POST", "reset");
    await page.getByRole("heading", { name: "No deliveries yet" }).waitFor();
  });

  it("does not show what a reset removed", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/deliveries/1?trace=delivery:1");
    const trace = page.getByRole("dialog", { name: "Why delivery 1" });
    await trace.getByRole("listitem").first().waitFor();
    await emulator.control("POST", "reset");
    await trace.getByText("delivery:1 has no trace.").waitFor();
    assert.equal(await trace.getByRole("listitem").count(), 0);
    await page.keyboard.press("Escape");
    await page.getByText("Delivery 1 not found.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send again", exact: true }).count(), 0);
    await createDraftContract(emulator.api);
    await page.goto(getViewUrl(emulator, "#/contracts/T-1"));
    await page.getByRole("heading", { name: "Next actions" }).waitFor();
    await emulator.control("POST", "reset");
    await page.getByRole("heading", { name: "T-1 no longer exists" }).waitFor();
  });

  it("says why an action failed if another user was faster", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator, "#/contracts/T-1");
    await page.getByRole("button", { name: "Void", exact: true }).click();
    await emulator.control("POST", "contracts/T-1/void", { body: {} });
    await page.getByRole("dialog").getByRole("button", { name: "Void T-1" }).click();
    await page.getByRole("status").getByText("A contract in status VOIDED cannot be voided.").waitFor();
  });

  it("cancels a confirmation when the state is replaced", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await openConsole(page, emulator, "#/contracts/T-1");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete T-1?" });
    await dialog.waitFor();
    await emulator.control("POST", "reset");
    await createDraftContract(emulator.api, { contract_name: "Of a colleague" });
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("contentinfo").getByText("Canceled, because the state may have been replaced").waitFor();
    await page.getByRole("heading", { name: "Of a colleague" }).waitFor();
  });

  it("cancels a confirmation after a gap in the events, without claiming that the state was replaced", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const relay = await startRelay(t, emulator.routerUrl);
    const address = (await createConsoleAddress(emulator)).replace(emulator.routerUrl, relay.url);
    await page.goto(address);
    await page.getByText("2031-01-02").first().waitFor();
    await page.goto(address.replace(/#.*/, "#/contracts/T-1"));
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete T-1?" });
    await dialog.waitFor();
    const frame = { contentType: "text/event-stream", body: 'id: 1-0\ndata: {"event":"resync"}\n\n' };
    await page.route(/_emulator\/events/, (route) => route.fulfill(frame), { times: 1 });
    relay.cut();
    relay.lead(emulator.routerUrl);
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("contentinfo").getByText("Canceled, because the state may have been replaced").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("shows all data after a restart once a user signs in again", async (t) => {
    const page = await tab(t);
    const first = await startTestEmulator(t);
    const between = await startRelay(t, first.routerUrl);
    const open = async (emulator: TestEmulator, hash: string) => {
      await page.goto((await createConsoleAddress(emulator)).replace(emulator.routerUrl, between.url));
      await page.getByRole("region", { name: "Virtual time", exact: true }).getByText("2031-01-02").waitFor();
      await page.goto(`${between.url}/_emulator/ui/${hash}`);
    };
    await createDraftContract(first.api);
    await open(first, "#/contracts/T-1");
    const heading = page.getByRole("heading", { name: "NDA with Acme" });
    await heading.waitFor();
    between.cut();
    await first.close();
    await page.getByText("The emulator does not respond. Retrying…").waitFor();
    // The loaded data stays visible, the time stops, and the message appears once.
    await page.getByText("Start it again").waitFor();
    await page.getByRole("region", { name: "Virtual time" }).getByText("last known time").waitFor();
    assert.equal(await page.getByText("does not respond").count(), 1);
    assert.equal(await heading.count(), 1);
    const second = await startTestEmulator(t);
    await createDraftContract(second.api);
    between.lead(second.routerUrl);
    await page.getByText("svc emulator open").waitFor();
    await open(second, "#/contracts");
    const contracts = page.getByRole("list", { name: "Contracts" }).getByRole("listitem");
    await contracts.first().waitFor();
    assert.equal(await contracts.count(), 1);
    await page.getByText("does not respond").waitFor({ state: "detached" });
    assert.equal(await page.getByText("Start it again").count(), 0);
  });

  it("prompts every tab to sign in after a restart", async (t) => {
    const page = await tab(t);
    const first = await startTestEmulator(t);
    const between = await startRelay(t, first.routerUrl);
    await page.goto((await createConsoleAddress(first)).replace(first.routerUrl, between.url));
    const other = await page.context().newPage();
    await other.goto(`${between.url}/_emulator/ui/#/contracts`);
    await other.getByRole("heading", { name: "No contracts yet" }).waitFor();
    between.cut();
    await first.close();
    for (const each of [page, other]) await each.getByText("The emulator does not respond. Retrying…").waitFor();
    between.lead((await startTestEmulator(t)).routerUrl);
    for (const each of [page, other]) await each.getByText("You are not signed in.").waitFor();
  });

  it("keeps the session of another tab if an older one is rejected late", async (t) => {
    const page = await tab(t);
    const emulator = await startTestEmulator(t);
    await page.goto(await createConsoleAddress(emulator));
    let reject = () => {};
    const held = new Promise<void>((resolve) => {
      void page.route(
        /_emulator\/contracts\?/,
        (route) => {
          reject = () => void route.fulfill({ status: 401, json: { error: { message: "The session has ended." } } });
          resolve();
        },
        { times: 1 },
      );
    });
    await page.getByRole("link", { name: "Contracts", exact: true }).click();
    await held;
    const other = await page.context().newPage();
    await other.goto(await createConsoleAddress(emulator));
    await other.getByRole("link", { name: "Contracts", exact: true }).click();
    await other.getByRole("heading", { name: "No contracts yet" }).waitFor();
    reject();
    // The view that was rejected reads its list again, with the newer session.
    await page.getByRole("heading", { name: "No contracts yet" }).waitFor();
    await other.reload();
    await other.getByRole("heading", { name: "No contracts yet" }).waitFor();
  });

  it("claims that the emulator does not respond only after a reconnect failed or hung", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const between = await startRelay(t, emulator.routerUrl);
    const cutOnce = () => {
      between.cut();
      between.lead(emulator.routerUrl);
    };
    await page.goto((await createConsoleAddress(emulator)).replace(emulator.routerUrl, between.url));
    await page.getByRole("region", { name: "Virtual time" }).getByText("2031-01-02").waitFor();
    await page.getByRole("region", { name: "Webhook 1: Hooks" }).getByRole("toolbar").waitFor();
    const readClaims = await recordClaims(page);
    const reconnect = page.waitForResponse(/_emulator\/events\?after=/);
    cutOnce();
    await reconnect;
    // The request of a view fails once, which is no more than a cut.
    await page.route(/_emulator\/contracts\?/, (route) => route.abort(), { times: 1 });
    await page.getByRole("link", { name: "Contracts", exact: true }).click();
    await page.getByRole("link", { name: /^T-1/ }).waitFor();
    await createDraftContract(emulator.api);
    await page.getByRole("link", { name: /^T-2/ }).waitFor();
    assert.deepEqual(await readClaims(), []);

    let release = () => {};
    await page.route(/_emulator\/events/, (route) => {
      release = () => void route.continue();
    });
    // Only the stream of a proxy that buffers it hangs. Here nothing responds.
    await page.route(/_emulator\/ready/, () => {});
    cutOnce();
    const foot = page.getByRole("contentinfo");
    await foot.getByText("Reconnecting…").waitFor();
    assert.deepEqual(await readClaims(), []);
    await foot.getByText("The emulator does not respond. Retrying…").waitFor();
    release();
    await page.getByText("does not respond").waitFor({ state: "detached" });
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("searches again after a request of the search had no response", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    await page.route(/_emulator\/owners/, (route) => route.abort(), { times: 1 });
    await page.getByRole("searchbox", { name: "Search" }).fill("hooks");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Webhook 1: Hooks" }).waitFor();
    await page.route(/_emulator\/owners/, (route) => route.fulfill({ status: 500, body: "{}" }), { times: 1 });
    await page.getByRole("searchbox", { name: "Search" }).fill("T-9 hooks");
    await page.keyboard.press("Enter");
    await page.getByText("The emulator responded with status 500.").waitFor();
  });

  it("says why the deliveries of a contract cannot be shown", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await page.route(/_emulator\/deliveries\?.*contract=/, (route) => route.fulfill({ status: 500, body: "{}" }));
    await openConsole(page, emulator, "#/contracts/T-1");
    await page.getByText("The emulator responded with status 500.").waitFor({ timeout: 10_000 });
  });

  it("disables all buttons while the emulator does not respond", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const foot = page.getByRole("contentinfo");
    await button("+5 min").click();
    await foot.getByText("Now 03:09:05").waitFor();
    await foot.getByText("svc emulator clock advance --by PT5M").waitFor();
    // The stream stays open but delivers no data.
    await page.context().setOffline(true);
    await foot.getByText("The emulator does not respond. Retrying…").waitFor();
    await foot.getByText(`Start it again: svc emulator start --port ${new URL(emulator.routerUrl).port}`).waitFor();
    assert.equal(await foot.getByText("clock advance").count(), 0);
    await button("+5 min").focus();
    await page.keyboard.press("Enter");
    assert.equal(await getFocusedText(page), "+5 min", "the keyboard keeps its place");
    assert.equal(await button("+5 min").getAttribute("title"), "The emulator does not respond.");
    assert.equal(await button("Send delivery 1 again").isEnabled(), false);
    await page.getByRole("link", { name: "Contracts", exact: true }).click();
    await page.context().setOffline(false);
    await page.getByRole("link", { name: /^T-1/ }).waitFor();
    await foot.getByText("Now 03:09:05").waitFor();
    assert.equal(await foot.getByText(/does not answer|Start it again/).count(), 0);
  });

  it("reports the failed request of a button once the emulator responds again", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    await openConsole(page, emulator);
    const foot = page.getByRole("contentinfo");
    const advance = "**/clock/advance";
    const readClaims = await recordClaims(page);
    await page.route(advance, (route) => route.abort());
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await foot.getByText("The emulator responds again. Check whether the last action took effect").waitFor();
    assert.equal(await foot.getByText(/does not answer|Start it again|clock advance/).count(), 0);
    assert.deepEqual(await readClaims(), []);
    await page.unroute(advance);
    await page.getByRole("button", { name: "+5 min", exact: true }).click();
    await foot.getByText("Now 03:09:05").waitFor();
  });
});
