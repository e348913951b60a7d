import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { createTemporaryFolder } from "../../support/store.ts";
import { triggerAllTraceKinds } from "../../support/trace-kinds.ts";

const installation = await installPythonPackages("prometheus-client==0.22.1");

interface Family {
  readonly type: string;
  readonly unit: string;
  readonly help: string;
  readonly samples: readonly (readonly [name: string, labels: Record<string, string>, value: number])[];
}

type Read = Readonly<Record<string, Family>>;

it("the Prometheus client library parses the metrics in both formats", { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startTestEmulator(t, { autoSignMs: 600_000 });
  await triggerAllTraceKinds(t, emulator);
  // The first scrape makes both formats count scrapes.
  await emulator.control("GET", "metrics");
  const cwd = await createTemporaryFolder(t);
  const accepted = { openmetrics: "application/openmetrics-text; version=1.0.0", text: "text/plain; version=0.0.4" };
  for (const [name, accept] of Object.entries(accepted)) {
    const { status, headers, body } = await emulator.control("GET", "metrics", { headers: { accept } });
    assert.deepEqual([status, headers.get("content-type")], [200, `${accept}; charset=utf-8`]);
    await writeFile(join(cwd, name), String(body));
  }
  const program = new URL("./prometheus/read.py", import.meta.url).pathname;
  const read = (await runForJson(join(installation.folder, "bin/python"), [program], { cwd })) as Record<
    keyof typeof accepted,
    Read
  >;
  const { svc_requests, svc_request_duration_seconds: durations } = read.openmetrics;
  assert.deepEqual([svc_requests?.type, durations?.type, durations?.unit], ["counter", "histogram", "seconds"]);
  const sum = (name: string, family: Family | undefined, service: string) =>
    (family?.samples ?? [])
      .filter(([sample, labels]) => sample === name && labels.service === service)
      .reduce((all, [, , value]) => all + value, 0);
  for (const service of ["router", "contracts", "emulator"]) {
    const counted = sum("svc_requests_total", svc_requests, service);
    assert.equal(counted, sum("svc_request_duration_seconds_count", durations, service), service);
  }
  assert.notEqual(sum("svc_requests_total", svc_requests, "contracts"), 0);
  assert.deepEqual(summarizeFamilies(read.text), summarizeFamilies(read.openmetrics));
});

/** Everything except units, which the text format omits, and values, which change with time. */
const summarizeFamilies = (families: Read) =>
  Object.entries(families).map(([name, { type, help, samples }]) => ({
    ...{ name, type, help },
    samples: samples.map(([sample, labels]) => [sample, labels]),
  }));
