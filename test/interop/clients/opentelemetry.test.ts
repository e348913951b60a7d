import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { startCollector } from "../../support/collector.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { waitUntilIdle } from "../../support/rejections.ts";
import { createTemporaryFolder } from "../../support/store.ts";
import { callerTrace, listTraceNodes, triggerAllTraceKinds } from "../../support/trace-kinds.ts";

const installation = await installPythonPackages("opentelemetry-proto==1.38.0");
const kinds: Readonly<Record<string, string>> = { request: "SERVER", event: "PRODUCER", attempt: "CLIENT" };

it("OpenTelemetry message types parse every span of an emulator", { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const sink = await startCollector(t);
  const emulator = await startTestEmulator(t, { autoSignMs: 600_000, otel: { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url } });
  await triggerAllTraceKinds(t, emulator);
  await waitUntilIdle(emulator);
  const nodes = await listTraceNodes(emulator);
  await emulator.close();
  const cwd = await createTemporaryFolder(t);
  await writeFile(join(cwd, "exports"), sink.received.map(({ body }) => `${body}\n`).join(""));
  const program = new URL("./opentelemetry/read.py", import.meta.url).pathname;
  const read = (await runForJson(join(installation.folder, "bin/python"), [program, "exports"], { cwd })) as {
    services: readonly string[];
    spans: readonly { spanId: string; parentSpanId?: string }[];
  };
  assert.deepEqual(read.services, ["svc-emulator"]);
  const sortById = <One extends { spanId: string }>(all: readonly One[]) =>
    all.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));
  assert.deepEqual(
    sortById(read.spans),
    sortById(
      nodes.map(({ trace, span, parent_span, what: label, kind }) => ({
        traceId: trace,
        spanId: span,
        ...(parent_span !== null && { parentSpanId: parent_span }),
        name: label,
        kind: `SPAN_KIND_${kinds[kind] ?? "INTERNAL"}`,
      })),
    ),
  );
  const spanIds = new Set<string | undefined>([undefined, callerTrace.span, ...read.spans.map(({ spanId }) => spanId)]);
  assert.deepEqual(
    read.spans.filter(({ parentSpanId }) => !spanIds.has(parentSpanId)),
    [],
  );
});
