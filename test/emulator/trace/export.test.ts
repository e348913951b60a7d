import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Pool } from "undici";
import { type TraceNode, toSpan } from "../../../src/api/trace-span.ts";
import { buildOtlpDocument } from "../../../src/base/otel.ts";
import { startCollector } from "../../support/collector.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";
import { startReceiver } from "../../support/receiver.ts";
import { waitUntilIdle } from "../../support/rejections.ts";
import { bulkOperations, createBulkBody } from "../../support/routed-emulator.ts";
import { callerTrace, listTraceNodes, triggerAllTraceKinds } from "../../support/trace-kinds.ts";

const getSpans = (document: ReturnType<typeof buildOtlpDocument>) => document.resourceSpans[0]!.scopeSpans[0]!.spans;
const sortSpans = <Span extends { readonly spanId: string }>(spans: readonly Span[]) =>
  spans.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));

interface LogEntry {
  readonly id: number;
  readonly status: number;
  readonly duration_ms: number;
}

describe("trace export", () => {
  it("sends each node of every trace once, with all parents", async (t) => {
    const sink = await startCollector(t);
    const emulator = await startTestEmulator(t, {
      autoSignMs: 600_000,
      otel: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url },
    });
    await triggerAllTraceKinds(t, emulator);
    await waitUntilIdle(emulator);
    const nodes = await listTraceNodes(emulator);
    const { items } = (await emulator.control("GET", "requests")).body as { items: readonly LogEntry[] };
    const responses = new Map(items.map(({ id, status, duration_ms }) => [`request:${id}`, { status, duration_ms }]));
    await emulator.close();
    const spans = sink.spans();
    // A stored node omits the response, which only its span contains.
    const expectedSpans = nodes.map((node) => toSpan({ ...node, ...responses.get(node.id) }));
    assert.deepEqual(
      sortSpans(spans),
      sortSpans(getSpans(buildOtlpDocument(expectedSpans, {}, { name: "svc", version: "" }))),
    );
    assert.deepEqual([...new Set(nodes.map(({ kind }) => kind))].sort(), [
      "attempt",
      "delivery",
      "event",
      "request",
      "timer",
    ]);
    const spanIds = new Set<string | undefined>([undefined, callerTrace.span, ...spans.map(({ spanId }) => spanId)]);
    assert.deepEqual(
      spans.filter(({ parentSpanId }) => !spanIds.has(parentSpanId)),
      [],
    );
    assert.equal(JSON.stringify(spans).includes("s3cret"), false);
  });

  it("marks attempts without a success as failed, and no request that the emulator rejects", async (t) => {
    const sink = await startCollector(t);
    const receiver = await startReceiver(t);
    receiver.respond(302);
    const emulator = await startTestEmulator(t, { otel: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url } });
    const webhook = { title: "moved", url: receiver.url, only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    await createDraftContract(emulator.api);
    const { poll } = await startDeviceAuthorization(emulator);
    assert.equal((await poll()).status, 400);
    await waitUntilIdle(emulator);
    await emulator.close();
    const outcomes = sink.spans().flatMap(({ attributes, status }) => {
      const response = attributes.find(({ key }) => key === "http.response.status_code");
      return response ? [`${response.value.intValue} ${status ? "failed" : "succeeded"}`] : [];
    });
    const accepted = ["200 succeeded", "201 succeeded", "201 succeeded"];
    assert.deepEqual(outcomes.sort(), [...accepted, "302 failed", "400 succeeded"]);
  });

  it("sends spans continuously, oldest first", async (t) => {
    const sink = await startCollector(t);
    const emulator = await startTestEmulator(t, { otel: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url } });
    const last = new Promise<void>((resolve) => {
      sink.respond((_, response) => {
        response.writeHead(200).end();
        if (sink.spans().filter(({ name }) => name.startsWith("contracts.create ")).length === 2) resolve();
      });
    });
    const webhook = { title: "dead", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_CREATED"] };
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: webhook });
    await createDraftContract(emulator.api);
    await waitUntilIdle(emulator);
    const { nodes } = (await emulator.control("GET", "traces/T-1")).body as { nodes: readonly TraceNode[] };
    await createDraftContract(emulator.api);
    await last;
    const sent = new Set(sink.spans().map(({ spanId }) => spanId));
    const expected = getSpans(buildOtlpDocument(nodes.map(toSpan), {}, { name: "svc", version: "" }));
    assert.deepEqual(
      expected.filter(({ spanId }) => !sent.has(spanId)).map(({ name }) => name),
      [],
    );
    assert.ok(new Set(nodes.map(({ kind }) => kind)).size > 2, "not requests alone");
  });

  it("uses the collector, headers and service name of the OpenTelemetry variables", async (t) => {
    const sink = await startCollector(t);
    const sent = async (otel: Record<string, string>) => {
      const before = sink.received.length;
      const emulator = await startTestEmulator(t, { otel });
      await createDraftContract(emulator.api);
      await emulator.close();
      return sink.received.slice(before).map(({ url, headers }) => [url, headers["content-type"], headers["x-key"]]);
    };
    const type = "application/json";
    const common = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${sink.url}/otlp/`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=first%20one",
      OTEL_RESOURCE_ATTRIBUTES: "team=contracts,service.name=of-the-resource",
    };
    assert.deepEqual(await sent(common), [["/otlp/v1/traces", type, "first one"]]);
    assert.deepEqual(sink.resource(), { "service.name": "of-the-resource", team: "contracts" });
    const ofTraces = {
      ...common,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${sink.url}/mine`,
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "X-Key=second",
      OTEL_SERVICE_NAME: "named",
    };
    assert.deepEqual(await sent(ofTraces), [["/mine", type, "second"]]);
    assert.deepEqual(sink.resource(), { "service.name": "named", team: "contracts" });
    assert.deepEqual(await sent({ ...ofTraces, OTEL_SDK_DISABLED: "true" }), []);
    assert.deepEqual(await sent({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url }), [["/v1/traces", type, undefined]]);
    assert.deepEqual(sink.resource(), { "service.name": "svc-emulator" });
  });

  it("is disabled without the OpenTelemetry variables", async (t) => {
    const emulator = await startTestEmulator(t, { otel: { OTEL_SERVICE_NAME: "me", OTEL_EXPORTER_OTLP_ENDPOINT: "" } });
    const { body } = await emulator.control("GET", "usage");
    const usual = await startTestEmulator(t, { otel: process.env });
    assert.deepEqual((await usual.control("GET", "usage")).body, body);
    assert.equal((body as { spans: unknown }).spans, null);
  });

  it("retries only after temporary failures", async (t) => {
    const sink = await startCollector(t);
    const lines: string[] = [];
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, OTEL_EXPORTER_OTLP_HEADERS: "authorization=s3cret" };
    let onLine = (_line: string) => {};
    const first = new Promise<string>((resolve) => {
      onLine = resolve;
    });
    const log = (line: string) => {
      lines.push(line);
      onLine(line);
    };
    const emulator = await startTestEmulator(t, { otel, log });
    sink.respond(503);
    await createDraftContract(emulator.api);
    await first;
    sink.respond(200);
    await emulator.close();
    const counts = sink.received.map(({ body }) => JSON.parse(body.toString()).resourceSpans[0].scopeSpans[0].spans);
    assert.deepEqual(counts[1], counts[0]);
    assert.deepEqual(
      lines.map((line) => line.replace(sink.url, "it")),
      [
        "spans cannot be exported to it: it responded with status 503. Spans beyond the buffer are dropped and counted",
        "spans are exported to it again",
      ],
    );

    const refusing = await startTestEmulator(t, { otel });
    const exportRejected = new Promise<void>((resolve) => {
      sink.respond((_, response) => {
        response.writeHead(400).end();
        resolve();
      });
    });
    await createDraftContract(refusing.api);
    await exportRejected;
    sink.respond(200);
    const before = sink.received.length;
    await createDraftContract(refusing.api);
    await refusing.close();
    const later = sink.spans();
    assert.equal(sink.received.length, before + 1);
    assert.equal(new Set(later.map(({ spanId }) => spanId)).size, later.length - counts[0].length);
  });

  it("says that the collector refuses the connection", async (t) => {
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
    const line = new Promise<string>((resolve) => {
      startTestEmulator(t, { otel, log: resolve }).then(({ api }) => createDraftContract(api));
    });
    assert.match(await line, /^spans cannot be exported to http:\/\/127\.0\.0\.1:1: connection refused\. /);
  });

  it("reports invalid variables without their values", async (t) => {
    const lines: string[] = [];
    const sink = await startCollector(t);
    const log = (line: string) => lines.push(line);
    const listNotes = async (otel: Record<string, string>) => {
      const emulator = await startTestEmulator(t, { otel, log });
      const { body } = await emulator.control("GET", "usage");
      await emulator.close();
      return [lines.splice(0).length, (body as { spans: object | null }).spans === null];
    };
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url };
    assert.deepEqual(await listNotes({ OTEL_EXPORTER_OTLP_ENDPOINT: "s3cret" }), [1, true]);
    assert.deepEqual(await listNotes({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:s3cret@127.0.0.1/" }), [1, true]);
    assert.deepEqual(await listNotes({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }), [1, true]);
    assert.deepEqual(await listNotes({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" }), [1, false]);
    assert.deepEqual(await listNotes({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: "s3cret,a=%ff,b=%0a" }), [3, false]);
    await startTestEmulator(t, { otel: { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: "s3cret" }, log });
    const form = "has a part that is not a name, =, and a percent-encoded value";
    assert.deepEqual(lines.splice(0), [`OTEL_EXPORTER_OTLP_HEADERS ${form}. It is ignored`]);
    assert.deepEqual(await listNotes({ ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: "s3cret" }), [1, false]);
    assert.deepEqual(await listNotes({ ...endpoint, OTEL_TRACES_EXPORTER: "none" }), [0, true]);
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Returns the size of the heap after garbage collection. */
function measureHeapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Starts a collector that accepts requests and never responds. */
async function startSilentReceiver(t: TestContext): Promise<string> {
  const sink = await startReceiver(t);
  sink.respond(() => {});
  return sink.url;
}

describe("unresponsive collector", () => {
  it("delays no client, and causes dropped events to be counted", async (t) => {
    const emulator = await startTestEmulator(t, {
      otel: { OTEL_EXPORTER_OTLP_ENDPOINT: await startSilentReceiver(t) },
    });
    const closeSignal = new AbortController();
    const [{ id, clusterKey }] = emulator.clusters as unknown as [{ id: string; clusterKey: string }];
    const pool = new Pool(emulator.routerUrl, { connections: 8 });
    t.after(() => pool.destroy());
    let i = 0;
    const statuses = new Set<number>();
    const sendRequests = async (count: number) => {
      const end = i + count;
      const sendNext = async () => {
        while (i < end) {
          i += 1;
          const { statusCode, body } = await pool.request({
            method: "POST",
            path: bulkOperations.clients.path,
            headers: { "content-type": "application/json", "x-cluster-key": clusterKey },
            body: JSON.stringify(createBulkBody("clients", id, [`client-${i}`])),
          });
          statuses.add(statusCode);
          await body.dump();
        }
      };
      await Promise.all(Array.from({ length: 8 }, sendNext));
    };
    // The buffer is full before the first measurement.
    await sendRequests(2_600);
    const before = measureHeapBytes();
    await sendRequests(2_000);
    const grown = measureHeapBytes() - before;
    assert.deepEqual([...statuses], [200]);
    assert.ok(grown < 4_000_000, `${grown} bytes`);
    const { body } = await emulator.control("GET", "usage");
    const { spans } = body as { spans: { sent: number; waiting: number; dropped: number } };
    assert.deepEqual([spans.sent, spans.waiting + spans.dropped], [0, 4_600]);
    assert.ok(spans.dropped > 2_000, JSON.stringify(spans));
    const [queue, batch] = [2_048, 512];
    assert.ok(spans.waiting > queue && spans.waiting <= queue + batch, JSON.stringify(spans));
    closeSignal.abort();
    await emulator.close({ signal: closeSignal.signal });
  });
});
