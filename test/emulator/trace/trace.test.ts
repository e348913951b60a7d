import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainAttempt } from "../../../emulator/trace/gather.ts";
import type { DeliveryAttempt } from "../../../emulator/webhooks/deliveries.ts";
import { createDraftContract, createSentContract } from "../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const start = "2031-01-02T03:04:05Z";
const manual = { deterministic: true, clock: { mode: "manual", start } } as const;
const deadWebhook = { title: "dead", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] };
const caller = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", span: "00f067aa0ba902b7" };
const traceparent = `00-${caller.trace}-${caller.span}-01`;

interface Trace {
  readonly nodes: readonly Node[];
  readonly planned: readonly {
    readonly parent: string;
    readonly due: string;
    readonly what: string;
    readonly because: string;
  }[];
  readonly more: boolean;
}
interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly trace: string;
  readonly span: string;
  readonly parent_span: string | null;
  readonly what: string;
  readonly because: string;
}

async function traceOf({ control }: Pick<TestEmulator, "control">, ref: string): Promise<Trace> {
  const { status, body } = await control("GET", `traces/${ref}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as Trace;
}

/** Each node with its parent. */
const formatNodes = ({ nodes }: Pick<Trace, "nodes">): string[] =>
  nodes.map(({ id, parent }) => (parent === null ? id : `${parent} > ${id}`));

const subscribe = (emulator: TestEmulator, webhook: object = deadWebhook) =>
  emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });

describe("trace", () => {
  it("contains all effects of a contract's requests, without those of other contracts", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    const { id } = await createSentContract(emulator.api);
    await createSentContract(emulator.api);
    await emulator.control("POST", `contracts/${id}/sign`, { body: { email: "jo@acme.example" } });
    const everything = new Set<string>();
    const { causes } = (
      (await emulator.control("GET", "state")).body as { rows: { causes: { id: string; before: string | null }[] } }
    ).rows;
    const { nodes } = await traceOf(emulator, id);
    const nodeIds = new Set(nodes.map((node) => node.id));
    for (const row of causes) if (row.before !== null && nodeIds.has(row.before)) everything.add(row.id);
    assert.ok(everything.size > 0);
    assert.deepEqual(
      [...everything].filter((value) => !nodeIds.has(value)),
      [],
    );
    assert.deepEqual(
      nodes.filter(({ what }) => what.includes("T-2")),
      [],
    );
  });

  it("is found by any of its parts", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    await subscribe(emulator);
    await createDraftContract(emulator.api);
    const fullTrace = ["request:2", "request:2 > event:3", "event:3 > delivery:1", "delivery:1 > attempt:1.1"];
    for (const ref of ["T-1", "t-1", "delivery:1", "Event:3", "webhook:1", "attempt:1.1"]) {
      const found = formatNodes(await traceOf(emulator, ref)).filter((line) => !/event:[12]$/.test(line));
      assert.deepEqual(found, fullTrace, ref);
    }
    const { nodes } = await traceOf(emulator, "request:2");
    assert.deepEqual(
      formatNodes({ nodes }).filter((line) => /delivery|attempt/.test(line)),
      fullTrace.slice(2),
    );
    assert.deepEqual((await traceOf(emulator, nodes[0]!.trace)).nodes, nodes);
  });

  it("lists nodes of the same time by number", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    await subscribe(emulator);
    for (let i = 0; i < 2; i += 1) await createDraftContract(emulator.api);
    assert.deepEqual(
      (await traceOf(emulator, "webhook:1")).nodes.flatMap(({ id }) => (id.startsWith("delivery:") ? id : [])),
      ["delivery:1", "delivery:2"],
    );
  });

  it("shows planned effects below their cause", async (t) => {
    const emulator = await startTestEmulator(t, { ...manual, autoSignMs: 600_000 });
    await createSentContract(emulator.api);
    const { planned } = await traceOf(emulator, "T-1");
    assert.deepEqual(
      planned.map(({ parent, due, what }) => `${parent} ${due} ${what}`),
      [
        "request:2 2031-01-02T03:05:05.000Z the provider of e-mails reports a delivery",
        "request:2 2031-01-02T03:14:05.000Z auto-sign",
      ],
    );
    await emulator.control("POST", "clock/advance", { body: { by: "PT15M" } });
    const after = await traceOf(emulator, "request:2");
    assert.deepEqual(after.planned, []);
    const timers = after.nodes.filter(({ id }) => id.startsWith("timer:"));
    // Clusters report to the router concurrently, so the number of earlier requests varies.
    const [, advance] = / (request:\d+) advanced the clock$/.exec(timers[0]?.because ?? "") ?? [];
    const because = `scheduled by request:2; ${advance} advanced the clock`;
    assert.deepEqual(
      timers.map(({ parent, what, because }) => [parent, what, because]),
      [
        ["request:2", "the provider of e-mails reports a delivery", because],
        ["request:2", "auto-sign", because],
      ],
    );
    const moved = formatNodes(await traceOf(emulator, String(advance)));
    assert.ok(moved.includes("request:2 > timer:2"), moved.join("\n"));
  });

  it("uses the caller's trace ID and parent span", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    await subscribe(emulator);
    const { id } = await createDraftContract(emulator.api);
    const headers = { traceparent };
    await emulator.control("POST", "activities", {
      body: { activity: "CONTRACT_CREATED", contract_id: Number(id.slice(2)) },
      headers,
    });
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    const { nodes } = await traceOf(emulator, caller.trace);
    assert.deepEqual(formatNodes({ nodes }), [
      "request:3",
      "request:3 > event:4",
      "event:4 > delivery:2",
      "delivery:2 > attempt:2.1",
      "delivery:2 > attempt:2.2",
    ]);
    assert.deepEqual([...new Set(nodes.map(({ trace }) => trace))], [caller.trace]);
    assert.equal(nodes[0]?.parent_span, caller.span);
    for (const { parent, parent_span } of nodes.slice(1)) {
      assert.equal(nodes.find(({ id }) => id === parent)?.span, parent_span);
    }
  });

  it("shows a resend in the trace of the request that caused it", async (t) => {
    const sink = await startReceiver(t);
    const emulator = await startTestEmulator(t, manual);
    await subscribe(emulator, { ...deadWebhook, url: sink.url });
    await createDraftContract(emulator.api);
    await emulator.control("GET", "clock");
    await emulator.control("POST", "deliveries/1/resend", { headers: { traceparent } });
    const fullTrace = await traceOf(emulator, "delivery:1");
    assert.deepEqual(formatNodes(fullTrace), [
      "request:2",
      "request:2 > event:3",
      "event:3 > delivery:1",
      "delivery:1 > attempt:1.1",
      "request:4",
      "request:4 > attempt:1.2",
    ]);
    assert.equal(fullTrace.nodes.at(-1)?.because, "resent by request:4");
    assert.deepEqual(formatNodes(await traceOf(emulator, caller.trace)), ["request:4", "request:4 > attempt:1.2"]);
  });

  it("lists resends in the order in which they were sent", async (t) => {
    const sink = await startReceiver(t);
    sink.respond(503);
    const emulator = await startTestEmulator(t, manual);
    await subscribe(emulator, { ...deadWebhook, url: sink.url });
    for (const _ of [1, 2]) await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: "PT5M" });
    await emulator.control("POST", "webhooks/1/disable");
    await emulator.control("POST", "deliveries/1/resend");
    sink.respond(200);
    await createDraftContract(emulator.api);
    const { body } = await emulator.control("POST", "webhooks/1/resend");
    const sent = (body as { items: { id: number }[] }).items.map(({ id }) => id);
    const [request] = (await traceOf(emulator, "delivery:3")).nodes.slice(-1).map(({ parent }) => parent);
    const { nodes } = await traceOf(emulator, request!);
    const resends = nodes.filter(({ parent }) => parent === request).map(({ id }) => id);
    assert.deepEqual(
      [sent, resends],
      [
        [1, 2, 3],
        ["attempt:1.4", "attempt:2.3", "attempt:3.1"],
      ],
    );
  });

  it("names a failure and the scripted fault behind it", async (t) => {
    const sink = await startReceiver(t);
    const emulator = await startTestEmulator(t, manual);
    await subscribe(emulator, { ...deadWebhook, url: sink.url });
    for (const effect of ["delay", "drop"]) {
      const body = { direction: "outgoing", effect, count: 1 };
      assert.equal((await emulator.control("POST", "faults", { body })).status, 201);
    }
    await createDraftContract(emulator.api);
    await emulator.control("GET", "clock");
    const [planned] = (await traceOf(emulator, "delivery:1")).planned;
    assert.deepEqual(
      [planned?.due, planned?.because],
      ["2031-01-02T03:05:05.000Z", "the first attempt; scripted: delay (request:2)"],
    );
    await emulator.control("POST", "clock/advance", { body: { by: "PT6M" } });
    const reasons = async (ref: string) =>
      (await traceOf(emulator, ref)).nodes.flatMap(({ id, what, because }) =>
        /^attempt/.test(id) ? [[what, because.replace(/request:\d+ advanced/, "somebody advanced")]] : [],
      );
    assert.deepEqual(await reasons("delivery:1"), [
      ["attempt 1: 200", "the first attempt; somebody advanced the clock; scripted: delay (request:2)"],
    ]);
    await createDraftContract(emulator.api);
    await emulator.control("GET", "clock");
    assert.deepEqual(await reasons("delivery:2"), [
      ["attempt 1: dropped", "the first attempt; scripted: drop (request:3)"],
    ]);
    const script = await traceOf(emulator, "request:3");
    assert.deepEqual(script.nodes[0]?.what, "faults.add POST /_emulator/faults");
  });

  it("returns an error for an empty trace and an invalid reference", async (t) => {
    const emulator = await startTestEmulator(t, manual);
    const codeOf = async (path: string) => {
      const { status, body } = await emulator.control("GET", path);
      return `${status} ${(body as { error: { code: string } }).error.code}`;
    };
    for (const ref of ["request:1", "T-1", "delivery:1", "event:1", "webhook:1", "timer:9", caller.trace]) {
      for (const path of [`traces/${ref}`, `traces/${ref}/events`]) {
        assert.equal(await codeOf(path), "404 no_such_trace", path);
      }
    }
    for (const ref of ["x", "T-0", "request:", "delivery:-1", "0".repeat(32), "T-1%00", "__proto__"]) {
      for (const path of [`traces/${ref}`, `traces/${ref}/events`]) {
        assert.equal(await codeOf(path), "404 malformed_ref", path);
      }
    }
  });
});

describe("reason of an attempt", () => {
  const minutes = (count: number) => count * 60_000;
  const createAttempt = (number: number, plannedAt: number, lateMs: number): DeliveryAttempt => ({
    delivery_id: 1,
    number,
    resend: false,
    scheduled_number: number,
    planned_at: plannedAt,
    at: plannedAt + lateMs,
    wall_at: 0,
    cause: null,
    moved_by: null,
    fault: null,
    url: deadWebhook.url,
    status: 500,
    error: null,
    duration_ms: 1,
    response_body: null,
  });

  it("reports how late the attempt was, unless the delay is short in comparison with the planned delay", () => {
    for (const [lateMs, suffix] of [
      [0, ""],
      [29_000, ""],
      [31_400, ", 31 s late"],
      [minutes(8) + 1_234, ", 8 min late"],
      [minutes(30_235), ", 20 days 23 h 55 min late"],
    ] as const) {
      const attempts = [createAttempt(1, 0, 0), createAttempt(2, minutes(5), lateMs)];
      assert.equal(explainAttempt(attempts[1]!, attempts), `retry 1, 5 min after 500${suffix}`);
    }
    const first = createAttempt(1, 0, 2_000);
    assert.equal(explainAttempt(first, [first]), "the first attempt, 2 s late");
  });
});
