import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { emulator } from "../../support/emulator.ts";
import { pythonPackages } from "../../support/foreign/installed.ts";
import { told } from "../../support/foreign/program.ts";
import { temporaryFolder } from "../../support/store.ts";
import { eventful } from "../../support/traced.ts";

const made = await pythonPackages("prometheus-client==0.22.1");

interface Family {
  readonly type: string;
  readonly unit: string;
  readonly samples: readonly (readonly [name: string, labels: Record<string, string>, value: number])[];
}

it("Prometheus' own library reads the metrics of an emulator", { skip: made.missing }, async (t) => {
  if (made.missing !== undefined) return;
  const world = await emulator(t, { autoSignMs: 600_000 });
  await eventful(t, world);
  const { status, headers, body } = await world.ask("GET", "metrics");
  assert.deepEqual(
    [status, headers.get("content-type")],
    [200, "application/openmetrics-text; version=1.0.0; charset=utf-8"],
  );
  const cwd = await temporaryFolder(t);
  await writeFile(join(cwd, "metrics"), String(body));
  const program = new URL("./prometheus/read.py", import.meta.url).pathname;
  const read = (await told(join(made.folder, "bin/python"), [program, "metrics"], { cwd })) as Record<string, Family>;
  const { svc_requests, svc_request_duration_seconds: durations } = read;
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
});
