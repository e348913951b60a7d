import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser } from "../support/browser.ts";
import { createConsoleAddress } from "../support/console.ts";
import { createDraftContract, createSentContract } from "../support/contracts.ts";
import { openEventStream } from "../support/event-stream.ts";
import { startRoutedEmulator } from "../support/routed-emulator.ts";
import { getViewUrl, hostileTag, openConsole, startFailingWebhookStory, startFullStory } from "./console-scene.ts";
import { startRelay } from "./relay.ts";

const { skip, tab } = createTestBrowser();

/** The result of each attempt of a foreign page to reach the console, as text. */
const grasping = `<!doctype html><title>Elsewhere</title><h1>Elsewhere</h1><script>
  const messages = [];
  const tries = {
    storage: () => localStorage.getItem("svc-session"),
    cookie: () => (document.cookie = "a=1"),
    channel: () => (new BroadcastChannel("svc-console").onmessage = ({ data }) => messages.push(data)) && "listens",
    worker: () => navigator.serviceWorker.register("/worker.js"),
    clock: () => fetch("/_emulator/clock").then(({ status }) => status),
    page: () => fetch("/_emulator/ui/").then(({ status }) => status),
    itself: () => fetch(location.href, { cache: "force-cache" }).then(({ status }) => status),
    frame: () => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.src = "/_emulator/ui/";
      frame.onload = () => done(frame.contentDocument && frame.contentDocument.body.textContent);
      document.body.append(frame);
    }),
  };
  window.heard = () => messages.length;
  window.grasped = Promise.all(
    Object.entries(tries).map(async ([name, attempt]) => {
      try {
        return [name, await attempt()];
      } catch (error) {
        return [name, error.name];
      }
    }),
  ).then(Object.fromEntries);
</script>`;

const nothing = {
  storage: "SecurityError",
  cookie: "SecurityError",
  channel: "listens",
  worker: "SecurityError",
  clock: "TypeError",
  page: "TypeError",
  itself: "TypeError",
  frame: null,
};

describe("console with hostile content", { skip }, () => {
  it("hides its session from an external cluster's page that the router serves", async (t) => {
    const page = await tab(t);
    const emulator = await startRoutedEmulator(t);
    emulator.eu.respond(({ url }, response) =>
      response
        .writeHead(200, {
          "content-type": url.endsWith(".js") ? "text/javascript" : "text/html",
          "cache-control": "max-age=600",
        })
        .end(grasping),
    );
    await openConsole(page, emulator);
    const evil = await page.context().newPage();
    for (const path of ["/anything", "/anything", "/api/v1/svc_auth/oauth/login"]) {
      await evil.goto(`${emulator.routerUrl}${path}`);
      assert.deepEqual(await evil.evaluate("grasped"), nothing, path);
    }
    // The foreign page does not receive the console's messages to its other tabs.
    await emulator.router("GET", "/router/v1/clustrs");
    await page.goto(getViewUrl(emulator, "#/requests"));
    await page.getByText("/router/v1/clustrs").waitFor();
    assert.equal(await evil.evaluate("heard()"), 0);
  });

  it("shows markup in headers and responses as text", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFullStory(t);
    await emulator.router("GET", "/router/v1/clusters", {
      headers: { "user-agent": hostileTag, referer: hostileTag, via: hostileTag },
    });
    await openConsole(page, emulator, "#/requests");
    await page.getByRole("link", { name: "/router/v1/clusters" }).first().click();
    await page.getByText("user-agent", { exact: true }).waitFor();
    assert.equal(await page.getByText(hostileTag, { exact: true }).count(), 2);
    await page.goto(getViewUrl(emulator, "#/deliveries/1"));
    await page.getByText("<img src=x onerror=alert(1)> busy").last().waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.title(), "Deliveries 1 · svc console");
    assert.deepEqual(page.complaints, []);
  });

  it("leaves a page readable if the name of a contract has 10,000 characters", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const { id } = await createSentContract(emulator.api, { contract_name: "w".repeat(10_000) });
    await openConsole(page, emulator);
    for (const [path, tag] of [
      [`contracts/${id}`, "h1"],
      ["emails", ".cards strong"],
    ] as const) {
      await page.goto(getViewUrl(emulator, `#/${path}`));
      const name = page.locator(`main ${tag}`, { hasText: "wwwww" }).first();
      await name.waitFor();
      assert.ok((await name.boundingBox())!.height < 400, path);
    }
    assert.deepEqual(page.complaints, []);
  });

  it("reloads after missed events without duplicates", async (t) => {
    const page = await tab(t);
    const { emulator } = await startFailingWebhookStory(t);
    const requests: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/_emulator/events")) requests.push(request.url());
    });
    const between = await startRelay(t, emulator.routerUrl);
    await page.goto((await createConsoleAddress(emulator)).replace(emulator.routerUrl, between.url));
    await page.getByRole("region", { name: "Virtual time" }).getByText("2031-01-02").waitFor();
    await page.goto(`${between.url}/_emulator/ui/#/contracts`);
    await page.getByRole("link", { name: /^T-1/ }).waitFor();
    between.cut();
    await page.getByText("The emulator does not respond. Retrying…").waitFor();
    await createDraftContract(emulator.api, { contract_name: "Missed" });
    const much = { "user-agent": "m".repeat(15_000) };
    for (let count = 0; count < 150; count += 1) await emulator.router("GET", "/router/v1/clusters", { headers: much });
    const after = requests.at(-1)!;
    between.lead(emulator.routerUrl);
    await page.getByRole("link", { name: /^T-2/ }).waitFor();
    const rows = page.getByRole("list", { name: "Contracts" }).getByRole("listitem");
    assert.equal(await rows.count(), 2);
    await page.getByRole("navigation").getByRole("link", { name: "Deliveries" }).click();
    await page.getByRole("link", { name: /^2 ?Contract created/i }).waitFor();
    assert.equal(await page.getByRole("list", { name: "Deliveries" }).getByRole("listitem").count(), 2);
    const stream = await openEventStream(t, emulator, { after: new URL(after).searchParams.get("after")! });
    assert.equal((await stream.next()).event, "resync");
  });
});
