import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContractRequest, createSentContract } from "../../support/contracts.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { waitUntilIdle } from "../../support/rejections.ts";
import { startRoutedEmulator } from "../../support/routed-emulator.ts";
import { callerTrace, traceparent } from "../../support/trace-kinds.ts";

interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly parent_span: string | null;
  readonly span: string;
  readonly what: string;
  readonly because: string;
}

async function listTraceNodes({ control }: Pick<TestEmulator, "control">, ref: string): Promise<readonly Node[]> {
  const { status, body } = await control("GET", `traces/${ref}`);
  assert.equal(status, 200, JSON.stringify(body));
  return (body as { nodes: readonly Node[] }).nodes;
}

describe("forwarded request in a trace", () => {
  it("is the parent of the cluster's request in the client's trace", async (t) => {
    const emulator = await startTestEmulator(t);
    const { clientId = "", clientSecret = "" } = emulator.clusters[0]!;
    const headers = { "client-id": clientId, "client-secret": clientSecret, traceparent };
    const response = await emulator.router("POST", "/api/v2.1/public/contracts/", {
      body: createContractRequest(),
      headers,
    });
    assert.equal(response.status, 201, JSON.stringify(response.body));
    const nodes = await listTraceNodes(emulator, callerTrace.trace);
    const [first, second] = nodes;
    assert.deepEqual(
      [first, second].map((node) => [node?.id, node?.parent, node?.parent_span, node?.because]),
      [
        ["request:1", null, callerTrace.span, "requested by a client, in its own trace"],
        ["request:2", "request:1", first?.span, "caused by request:1"],
      ],
    );
    assert.match(String(first?.what), /^catch-all POST /);
    assert.match(String(second?.what), /^contracts\.create POST /);
    assert.ok(nodes.slice(2).every(({ parent }) => parent !== null && parent !== "request:1"));
    assert.deepEqual(await listTraceNodes(emulator, "request:1"), nodes);
  });

  it("preserves its trace headers, including those of other tracing systems", async (t) => {
    const outside = await startRoutedEmulator(t);
    const tracing = { traceparent, tracestate: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", baggage: "tenant=7" };
    await outside.router("GET", "/api/v1/anything", { headers: tracing });
    for (const { received } of [outside.eu, outside.us]) {
      const { traceparent, tracestate, baggage } = received[0]!.headers;
      assert.deepEqual({ traceparent, tracestate, baggage }, tracing);
    }
  });

  it("is not reported to external clusters or in an inbox", async (t) => {
    const outside = await startRoutedEmulator(t);
    await outside.router("GET", "/api/v1/anything", { headers: { "x-svc-link": "mine" } });
    for (const { received } of [outside.eu, outside.us]) {
      const [request] = received;
      assert.deepEqual([request?.headers["x-svc-link"], request?.url], [undefined, "/api/v1/anything"]);
    }
    const emulator = await startTestEmulator(t);
    await emulator.router("POST", "/some/path", { body: {}, headers: { "x-cluster-id": "us-1" } });
    await emulator.router("POST", "/some/path", {
      body: {},
      headers: { "x-cluster-id": "us-1", "X-Svc-Link": "mine" },
    });
    const { items } = (await emulator.control("GET", "clusters/us-1/inbox")).body as {
      items: readonly { readonly headers: readonly (readonly [name: string, value: string])[] }[];
    };
    assert.deepEqual(
      items.map(({ headers }) => headers.filter(([name]) => name.toLowerCase() === "x-svc-link")),
      [[], []],
    );
  });
});

describe("cluster report to the router", () => {
  it("has the reported change as its cause", async (t) => {
    const emulator = await startTestEmulator(t);
    await createSentContract(emulator.api);
    await waitUntilIdle(emulator);
    const nodes = await listTraceNodes(emulator, "request:2");
    const reports = nodes.filter(({ id, what }) => id.startsWith("request:") && what.includes("/router/v1/"));
    assert.ok(reports.length > 0);
    assert.deepEqual([...new Set(reports.map(({ parent }) => parent))], ["request:2"]);
  });
});
