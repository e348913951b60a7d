import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestBrowser, type Tab } from "../support/browser.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { listViolations } from "./barriers.ts";
import { getViewUrl, openConsole, startFailingWebhookStory } from "./console-scene.ts";

const { skip, tab } = createTestBrowser();
const begin = Date.parse("2031-01-02T03:04:05Z");

/** Replaces the deliveries of the webhook with `count` deliveries at equal intervals, the newest of `total`. */
async function serveDeliveries(page: Tab, count: number, total = count, intervalSeconds = 1): Promise<void> {
  const iso = (before: number) => new Date(begin - before * intervalSeconds * 1_000).toISOString();
  const items = Array.from({ length: count }, (_, before) => ({
    id: count - before,
    webhook_id: 1,
    workspace_id: 1,
    activity: "CONTRACT_CREATED",
    contract_id: 1,
    composite_id: "T-1",
    webhook_status: "ACTIVE",
    outcome: "delivered",
    status_text: "delivered",
    next_attempt_at: null,
    postponement: null,
    max_attempts: 7,
    created_at: iso(before),
    attempts: [
      {
        number: 1,
        resend: false,
        scheduled_number: 1,
        planned_at: iso(before),
        at: iso(before),
        status: 200,
        error: null,
        duration_ms: 1,
        fault: null,
        response: null,
      },
    ],
  }));
  await page.route(/\/_emulator\/deliveries\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const offset = Number(query.get("offset") ?? 0);
    return route.fulfill({ json: { items: items.slice(offset, offset + Number(query.get("limit"))), total } });
  });
}

/** Scrolls through the whole timeline and returns the script time and the number of elements. */
async function measureScroll(page: Tab): Promise<{ readonly scriptMs: number; readonly elements: number }> {
  const session = await page.context().newCDPSession(page);
  // CPU time excludes the load of other processes.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const scriptMs = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "ScriptDuration")!.value * 1_000;
  };
  const before = await scriptMs();
  const elements: number = await page.evaluate(`(async () => {
    const timeline = document.querySelector(".timeline");
    let most = 0;
    for (let frame = 0; frame < 60; frame += 1) {
      timeline.scrollLeft = (timeline.scrollWidth * (frame % 30)) / 30;
      await new Promise(requestAnimationFrame);
      most = Math.max(most, document.querySelectorAll("*").length);
    }
    return most;
  })()`);
  return { scriptMs: (await scriptMs()) - before, elements };
}

describe("console with large data sets", { skip }, () => {
  it("claims nothing about older deliveries that are not loaded", async (t) => {
    const { emulator } = await startFailingWebhookStory(t);
    const page = await tab(t);
    await serveDeliveries(page, 10_000, 50_000);
    await openConsole(page, emulator, "#/webhooks");
    await page.getByRole("link", { name: "at least 10\u202f000 deliveries" }).waitFor();
    await page.goto(getViewUrl(emulator, "#/deliveries?show=undelivered"));
    await page.getByText("None of the newest rows").waitFor();
    await page.goto(getViewUrl(emulator, "#/timeline"));
    await page.getByRole("toolbar").waitFor();
    assert.equal(await page.getByText("All deliveries arrived").count(), 0);
    assert.deepEqual(page.complaints, []);
  });

  it("finds a contract behind 500 newer ones by its name", async (t) => {
    const { emulator } = await startFailingWebhookStory(t);
    const create = (name: string) =>
      emulator.api("POST", "/api/v2.1/public/contracts/", {
        body: { contract_template_id: 101, contract_data: {}, counter_party_details: [], contract_name: name },
      });
    await create("Lease of the mill");
    for (let i = 0; i < 501; i += 1) await create(`Contract ${i}`);
    const page = await tab(t);
    await openConsole(page, emulator, "#/search/mill");
    await page.getByRole("link", { name: "Lease of the mill" }).waitFor();
    assert.deepEqual(page.complaints, []);
  });

  it("leaves the visible rows at their place when rows are added above", async (t) => {
    const emulator = await startTestEmulator(t);
    const send = async (count: number) => {
      for (let i = 0; i < count; i += 1) await emulator.router("GET", "/router/v1/clusters/");
    };
    await send(200);
    const page = await tab(t);
    await openConsole(page, emulator, "#/requests");
    await page.getByRole("link", { name: "Services 200" }).waitFor();
    await page.evaluate("scrollTo(0, 3_000)");
    const nearby = `document.elementFromPoint(600, 400).closest("a.row").href`;
    await page.locator("li[aria-posinset='80']").waitFor();
    const before = await page.evaluate(nearby);
    await send(40);
    await page.getByRole("link", { name: "Services 240" }).waitFor();
    await page.evaluate("new Promise(requestAnimationFrame)");
    assert.equal(await page.evaluate(nearby), before);
    await page.evaluate("scrollTo(0, 0)");
    await send(1);
    await page.getByRole("link", { name: "Services 241" }).waitFor();
    assert.equal(await page.evaluate("scrollY"), 0);
  });

  it("names a mark of many attempts by its text", async (t) => {
    const { emulator } = await startFailingWebhookStory(t);
    const page = await tab(t);
    await serveDeliveries(page, 300, 300, 0);
    await openConsole(page, emulator, "#/timeline");
    await page.getByText("99+").waitFor();
    assert.deepEqual(await listViolations(page, ["label-content-name-mismatch"]), []);
  });

  it("renders only the visible rows of 10,000 attempts", async (t) => {
    const { emulator } = await startFailingWebhookStory(t);
    const measured = [];
    for (const count of [1_000, 10_000]) {
      const page = await tab(t);
      await serveDeliveries(page, count);
      await openConsole(page, emulator, "#/deliveries");
      await page.getByRole("link", { name: `All ${count.toLocaleString("en").replace(",", "\u202f")}` }).waitFor();
      assert.ok((await page.getByRole("list", { name: "Deliveries" }).getByRole("listitem").count()) < 60);
      await page.goto(getViewUrl(emulator, "#/timeline"));
      await page.getByRole("toolbar").waitFor();
      measured.push(await measureScroll(page));
      assert.deepEqual(page.complaints, []);
    }
    const [few, many] = measured as [(typeof measured)[0], (typeof measured)[0]];
    assert.ok(many.elements < 600, `${many.elements} elements`);
    assert.ok(many.scriptMs < 4 * few.scriptMs + 60, `${many.scriptMs} ms of scripts, ${few.scriptMs} for a tenth`);
  });
});
