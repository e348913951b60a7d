import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { type ExportedSpan, startCollector } from "../../support/collector.ts";
import { startReceiver } from "../../support/receiver.ts";
import { callerTrace, traceparent } from "../../support/trace-kinds.ts";

const getAttributes = ({ attributes }: ExportedSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

describe("span of a command", () => {
  it("is the root of a trace if variables name a collector", async (t) => {
    const sink = await startCollector(t);
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url };
    const { svc, emulator } = await startCliEmulator(t, { otel });
    assert.deepEqual(await svc("contracts create --set x=1", { env: otel }), {
      ...(await svc("contracts create --set x=1")),
    });
    const spans = sink.spans();
    assert.deepEqual(
      spans.map(({ name, parentSpanId }) => [name, parentSpanId]),
      [["svc contracts create", undefined]],
    );
    assert.deepEqual(getAttributes(spans[0]!), {
      "svc.command": "contracts create",
      "process.exit.code": "2",
      "error.type": "usage",
    });
    assert.deepEqual(sink.resource(), { "service.name": "svc" });

    const before = sink.spans().length;
    const { exit } = await svc(
      "webhooks create --title a --url http://127.0.0.1:9/ --only-for-activities CONTRACT_SIGNED",
      { env: otel },
    );
    assert.equal(exit, 0);
    await emulator.close();
    const [command, ...requestSpans] = sink.spans().slice(before);
    assert.equal(command?.name, "svc webhooks create");
    const request = requestSpans.find(({ name }) => name.startsWith("webhooks.create"));
    assert.deepEqual([request?.traceId, request?.parentSpanId], [command?.traceId, command?.spanId]);
  });

  it("is a child of the span in TRACEPARENT and is propagated to child processes", async (t) => {
    const sink = await startCollector(t);
    const { svc } = await startCliEmulator(t);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, TRACEPARENT: traceparent, PATH: process.env.PATH };
    const program = "console.log(process.env.TRACEPARENT)";
    const { stdout, stderr } = await svc(["emulator", "exec", "--", process.execPath, "-e", program], { env });
    const span = sink.spans().find(({ name }) => name === "svc emulator exec");
    assert.ok(span, stderr);
    assert.deepEqual([span.traceId, span.parentSpanId], [callerTrace.trace, callerTrace.span]);
    assert.equal(stdout.trim(), `00-${callerTrace.trace}-${span.spanId}-01`);
  });

  it("is not sent without the variables and adds no headers", async (t) => {
    const service = await startReceiver(t);
    const { svc } = await startCliEmulator(t);
    const env = { SVC_ROUTER_URL: service.url, TRACEPARENT: traceparent };
    await svc("router health", { env });
    assert.deepEqual(
      service.received.map(({ headers }) => headers.traceparent),
      [undefined],
    );
    await svc("router health", { env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } });
    assert.match(String(service.received[1]?.headers.traceparent), new RegExp(`^00-${callerTrace.trace}-`));
  });

  it("propagates the state of other tracing systems and replaces the parent span", async (t) => {
    const service = await startReceiver(t);
    const { svc } = await startCliEmulator(t);
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
    const getTracestate = async (extraHeaders: Readonly<Record<string, string>>) => {
      await svc("router health", { env: { SVC_ROUTER_URL: service.url, ...extraHeaders } });
      return service.received.at(-1)!.headers.tracestate;
    };
    const tracestate = "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE,tenant@vendor=a b";
    const traceVariables = { TRACEPARENT: traceparent, TRACESTATE: tracestate };
    assert.equal(await getTracestate({ ...otel, ...traceVariables }), tracestate);
    assert.equal(await getTracestate(traceVariables), undefined);
    assert.equal(await getTracestate({ ...otel, TRACESTATE: tracestate }), undefined);
    assert.equal(await getTracestate({ ...otel, ...traceVariables, TRACEPARENT: "00-0-0-01" }), undefined);
    for (const broken of ["", " , ", "rojo", "Rojo=1", "rojo=1\nx: y", "rojo=é", "rojo=1,".repeat(33)]) {
      assert.equal(await getTracestate({ ...otel, ...traceVariables, TRACESTATE: broken }), undefined, broken);
    }

    const program = "console.log(process.env.TRACESTATE ?? 'none')";
    const started = async (env: Readonly<Record<string, string>>) =>
      (
        await svc(["emulator", "exec", "--", process.execPath, "-e", program], {
          env: { ...otel, PATH: process.env.PATH!, ...env },
        })
      ).stdout.trim();
    assert.equal(await started(traceVariables), tracestate);
    assert.equal(await started({ TRACESTATE: tracestate }), "none");
  });

  it("has no effect on a command with an unreachable or silent collector", async (t) => {
    const silent = await startReceiver(t);
    silent.respond(() => {});
    const { svc } = await startCliEmulator(t);
    const usual = await svc("router clusters --json");
    for (const url of ["http://127.0.0.1:9", silent.url, "nowhere"]) {
      assert.deepEqual(await svc("router clusters --json", { env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } }), usual);
    }
    assert.equal(silent.received.length, 1);
  });
});
