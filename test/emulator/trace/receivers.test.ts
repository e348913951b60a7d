import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const caller = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", span: "00f067aa0ba902b7" };
const foreignTrace = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };
const createTraceHeader = ({ trace, span }: typeof caller) => ({ traceparent: `00-${trace}-${span}-01` });

interface Node {
  readonly id: string;
  readonly trace: string;
  readonly span: string;
}

/** The requests of a receiver that responds with 503: the first attempt, the retry, and a resend in another trace. */
async function deliver(t: TestContext, options: object) {
  const sink = await startReceiver(t);
  const emulator = await startTestEmulator(t, {
    deterministic: true,
    clock: { mode: "manual", start: "2031-01-02T03:04:05Z" },
    ...options,
  });
  const webhook = { title: "a", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
  await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
  const { number } = await createDraftContract(emulator.api);
  await emulator.control("GET", "clock");
  sink.respond(503);
  const body = { activity: "CONTRACT_CREATED", contract_id: number };
  await emulator.control("POST", "activities", { body, headers: createTraceHeader(caller) });
  await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
  await emulator.control("POST", "deliveries/2/resend", { headers: createTraceHeader(foreignTrace) });
  const { nodes } = (await emulator.control("GET", "traces/delivery:2")).body as { nodes: readonly Node[] };
  return { nodes, got: sink.received.slice(-3) };
}

/** The whole request, except the port of the receiver. */
const getRequestBytes = (requests: Awaited<ReturnType<typeof deliver>>["got"]) =>
  requests.map(({ method, url, rawHeaders, body }) => {
    const host = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "host");
    return [method, url, rawHeaders.filter((_, i) => i !== host + 1), body.toString("latin1")];
  });

describe("webhook receiver and traces", () => {
  it("receives the same bytes with and without traces, except for one header", async (t) => {
    const [silent, telling] = [await deliver(t, {}), await deliver(t, { traceWebhooks: true })];
    const without = telling.got.map(({ rawHeaders, ...rest }) => {
      const at = rawHeaders.indexOf("traceparent");
      assert.ok(at >= 0);
      return { ...rest, rawHeaders: rawHeaders.filter((_, i) => i !== at && i !== at + 1) };
    });
    assert.deepEqual(getRequestBytes(without), getRequestBytes(silent.got));
  });

  it("receives only the service's headers by default", async (t) => {
    const { got } = await deliver(t, {});
    assert.deepEqual(
      got.map(({ headers }) => Object.keys(headers).sort()),
      got.map(() => ["connection", "content-length", "content-type", "host", "x-svc-webhook-content-hash"]),
    );
  });

  it("receives the trace and the span of each attempt with --webhook-headers trace", async (t) => {
    const { nodes, got } = await deliver(t, { traceWebhooks: true });
    const spans = [1, 2, 3].map((number) => nodes.find(({ id }) => id === `attempt:2.${number}`));
    assert.deepEqual(
      got.map(({ headers }) => headers.traceparent),
      spans.map((node) => `00-${node?.trace}-${node?.span}-01`),
    );
    assert.deepEqual(
      spans.map((node) => node?.trace),
      [caller.trace, caller.trace, foreignTrace.trace],
    );
    assert.equal(new Set(spans.map((node) => node?.span)).size, 3);
  });

  it("receives the spans of the trace when a resend overtakes a running attempt", async (t) => {
    const sink = await startReceiver(t);
    const emulator = await startTestEmulator(t, { clock: { mode: "manual" }, traceWebhooks: true });
    const webhook = { title: "a", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    const finished = new Promise<void>((resolve) => {
      sink.respond(async (_, response) => {
        response.on("close", resolve);
        sink.respond(503);
        await emulator.control("POST", "deliveries/1/resend");
        response.writeHead(503).end();
      });
    });
    await createDraftContract(emulator.api);
    await finished;
    await emulator.control("GET", "clock");
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    const { nodes } = (await emulator.control("GET", "traces/delivery:1")).body as { nodes: readonly Node[] };
    const attempts = nodes.filter(({ id }) => id.startsWith("attempt:"));
    assert.deepEqual(
      sink.received.map(({ headers }) => headers.traceparent).sort(),
      attempts.map((node) => `00-${node.trace}-${node.span}-01`).sort(),
    );
    assert.equal(attempts.length, 3);
  });
});
