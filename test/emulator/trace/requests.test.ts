import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TraceNode } from "../../../src/api/trace-span.ts";
import { startCollector } from "../../support/collector.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";

type LogEntry = { readonly status: number; readonly fault?: string };

describe("traced request", () => {
  it("is exported as a span after its response", async (t) => {
    const sink = await startCollector(t);
    const emulator = await startTestEmulator(t, { otel: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url } });
    const slow = { direction: "incoming", operation: "contracts.create", latency_ms: 20 };
    await emulator.control("POST", "faults", { body: slow });
    await createDraftContract(emulator.api);
    await emulator.close();
    const span = sink.spans().find(({ name }) => name.startsWith("contracts.create "));
    const lasted = Number(span?.endTimeUnixNano) - Number(span?.startTimeUnixNano);
    assert.ok(lasted >= 19_000_000, String(lasted));
    const status = span?.attributes.find(({ key }) => key === "http.response.status_code")?.value;
    assert.deepEqual(status, { intValue: "201" });
  });

  it("has wall-clock span times, even with --deterministic", async (t) => {
    const sink = await startCollector(t);
    const clock = { mode: "manual", start: "2031-01-02T03:04:05Z" } as const;
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url };
    const emulator = await startTestEmulator(t, { deterministic: true, clock, otel });
    const webhook = { title: "dead", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] };
    const before = Date.now();
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    await createDraftContract(emulator.api);
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    const { nodes } = (await emulator.control("GET", "traces/T-1")).body as { nodes: readonly TraceNode[] };
    await emulator.close();
    const after = Date.now();
    assert.ok(nodes.every(({ wall_at, at }) => wall_at === at));
    // A number cannot represent nanoseconds of today exactly.
    const times = sink.spans().map(({ startTimeUnixNano }) => Number(BigInt(startTimeUnixNano) / 1_000_000n));
    assert.ok(times.length > nodes.length, String(times.length));
    assert.deepEqual(
      times.filter((time) => time < before || time > after),
      [],
    );
  });

  it("names its scripted fault and the cause of the fault", async (t) => {
    const emulator = await startTestEmulator(t, {});
    const hit = { direction: "incoming", operation: "contracts.create", count: 1 };
    await emulator.control("POST", "faults", { body: { ...hit, latency_ms: 1, status: 503 } });
    await emulator.control("POST", "faults", { body: { ...hit, latency_ms: 2 } });
    await assert.rejects(createDraftContract(emulator.api));
    await createDraftContract(emulator.api);
    await createDraftContract(emulator.api);
    const { items } = (await emulator.control("GET", "requests?operation=contracts.create")).body as {
      items: readonly LogEntry[];
    };
    assert.deepEqual(
      items.map(({ status, fault }) => [status, fault]),
      [
        [503, "wait 1 ms, status 503 (request:1)"],
        [201, "wait 2 ms (request:2)"],
        [201, undefined],
      ],
    );
    const { nodes } = (await emulator.control("GET", "traces/T-1")).body as { nodes: readonly TraceNode[] };
    assert.equal(nodes[0]?.what, "contracts.create POST /api/v2.1/public/contracts/; scripted: wait 2 ms (request:2)");
  });
});
