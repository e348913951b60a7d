import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContractRequest } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const plainText = "text/plain; version=0.0.4; charset=utf-8";

/** The samples of an exposition by name and labels. */
async function scrapeMetrics({ control }: TestEmulator): Promise<Map<string, number>> {
  const { status, body } = await control("GET", "metrics", { headers: { accept: openMetrics } });
  assert.equal(status, 200);
  const lines = String(body).split("\n");
  assert.deepEqual(lines.slice(-2), ["# EOF", ""]);
  const samples = lines.slice(0, -2).filter((line) => !line.startsWith("#"));
  return new Map(
    samples.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const pickByPrefix = (samples: ReadonlyMap<string, number>, ...names: readonly string[]) =>
  Object.fromEntries([...samples].filter(([name]) => names.some((start) => name.startsWith(start))));

describe("GET /_emulator/metrics", () => {
  it("counts requests by service, operation and status class", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.api("GET", "/api/v2.1/public/templates/");
    await emulator.api("GET", "/api/v2.1/public/contracts/T-9/status");
    await emulator.api("GET", "/api/v2.1/public/contracts/T-8/status");
    for (const name of ["a", "b", "c"]) await emulator.api("GET", `/api/v2.1/public/nowhere/${name}`);
    const samples = await scrapeMetrics(emulator);
    assert.deepEqual(pickByPrefix(samples, 'svc_requests_total{service="contracts"'), {
      'svc_requests_total{service="contracts",operation="templates.list",class="2xx"}': 1,
      'svc_requests_total{service="contracts",operation="contracts.status",class="4xx"}': 2,
      'svc_requests_total{service="contracts",operation="none",class="4xx"}': 3,
    });
    const durations = pickByPrefix(samples, 'svc_request_duration_seconds_bucket{service="contracts"');
    const counts = Object.values(durations);
    assert.deepEqual([counts.length, counts.at(-1)], [15, 6]);
    assert.deepEqual(
      counts.toSorted((a, b) => a - b),
      counts,
    );
  });

  it("reports attempts by response, deliveries by outcome, and pending deliveries", async (t) => {
    const emulator = await startTestEmulator(t);
    const failing = await startReceiver(t);
    failing.respond(503);
    const hook = (url: string) => ({ title: "Mine", url, only_for_activities: ["CONTRACT_CREATED"] });
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: hook(failing.url) });
    await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: hook((await startReceiver(t)).url) });
    await emulator.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest() });
    await emulator.control("POST", "clock/advance", { body: { by: "PT5M" } });
    const samples = await scrapeMetrics(emulator);
    assert.deepEqual(pickByPrefix(samples, "svc_delivery", "svc_deliveries", "svc_schedule_entries"), {
      'svc_delivery_attempts_total{result="5xx"}': 2,
      'svc_delivery_attempts_total{result="2xx"}': 1,
      'svc_delivery_outcomes_total{outcome="retrying"}': 2,
      'svc_delivery_outcomes_total{outcome="delivered"}': 1,
      'svc_deliveries_waiting{outcome="waiting"}': 0,
      'svc_deliveries_waiting{outcome="retrying"}': 1,
      svc_schedule_entries: 1,
    });
    assert.deepEqual(pickByPrefix(samples, "svc_clock_time", "svc_clock_mode", "svc_store"), {
      svc_clock_time_seconds: Date.parse("2031-01-02T03:09:05Z") / 1_000,
      'svc_clock_mode{mode="real"}': 0,
      'svc_clock_mode{mode="manual"}': 1,
      'svc_clock_mode{mode="auto"}': 0,
      svc_store_writable: 1,
    });
  });

  it("preserves its counters across a reset", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.router("GET", "/router/v1/clusters/");
    await emulator.control("POST", "reset");
    assert.equal(
      (await scrapeMetrics(emulator)).get('svc_requests_total{service="router",operation="clusters.list",class="2xx"}'),
      1,
    );
  });

  const prometheus2 =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
  const prometheus3 =
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
  for (const [scraper, accept, type] of [
    ["Prometheus 2", prometheus2, openMetrics],
    ["Prometheus 3", prometheus3, openMetrics],
    ["a client without an OpenMetrics version", "application/openmetrics-text", openMetrics],
    [
      "a client with another notation of OpenMetrics",
      'APPLICATION/OpenMetrics-Text ; Version="1.0.0" ; Q=0.5, text/plain;q=0.4',
      openMetrics,
    ],
    [
      "a client that accepts both equally",
      "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0",
      openMetrics,
    ],
    ["a client that rejects text", "text/*;q=0,application/*", openMetrics],
    ["VictoriaMetrics", "text/plain;version=0.0.4;q=1,*/*;q=0.1", plainText],
    ["a client that prefers text", "application/openmetrics-text;q=0.3,text/plain;version=0.0.4;q=0.7", plainText],
    ["a client that rejects OpenMetrics", "application/openmetrics-text;q=0,*/*", plainText],
    [
      "a client of another OpenMetrics version",
      "application/openmetrics-text;version=0.0.1,text/plain;q=0.5",
      plainText,
    ],
    ["curl", "*/*", plainText],
    ["a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", plainText],
    ["a client with a malformed Accept header", ";;q=,,/", plainText],
    ["a client that accepts neither format", "application/json", plainText],
  ] as const) {
    it(`sends ${type.split(";", 1)[0]} to ${scraper}`, async (t) => {
      const { status, headers, body } = await (await startTestEmulator(t)).control("GET", "metrics", {
        headers: { accept },
      });
      assert.deepEqual([status, headers.get("content-type"), headers.get("vary")], [200, type, "accept"]);
      assert.equal(String(body).endsWith("\n# EOF\n"), type === openMetrics);
    });
  }

  it("reports the same values in both formats", async (t) => {
    const { control } = await startTestEmulator(t);
    const lines = async (accept: string) =>
      String((await control("GET", "metrics", { headers: { accept } })).body)
        .split("\n")
        .map((line) => (line.startsWith("#") ? line : line.slice(0, line.lastIndexOf(" "))));
    // Request counters appear with the first request.
    await lines(plainText);
    const counters = new Set(["svc_requests", "svc_delivery_attempts", "svc_delivery_outcomes", "process_cpu_seconds"]);
    for (const label of ["active", "idle"]) counters.add(`nodejs_eventloop_${label}_seconds`);
    const convertLine = (line: string) => {
      const [hash, keyword, name = "", ...rest] = line.split(" ");
      return hash === "#" && counters.has(name) ? [hash, keyword, `${name}_total`, ...rest].join(" ") : line;
    };
    const open = await lines(openMetrics);
    assert.deepEqual(
      await lines(plainText),
      open.filter((line) => !line.startsWith("# UNIT ") && line !== "# EOF").map(convertLine),
    );
  });

  it("requires permission to read", async (t) => {
    const emulator = await startTestEmulator(t);
    assert.equal((await emulator.router("GET", "/_emulator/metrics")).status, 401);
  });
});

describe("GET /_emulator/live", () => {
  it("identifies the process, and its pid only to programs on the same machine", async (t) => {
    const emulator = await startTestEmulator(t);
    const { body, status } = await emulator.router("GET", "/_emulator/live");
    const { process: details, ...otherFields } = body as { process: { machine: string } };
    assert.match(details.machine, /^[0-9a-f]{16}$/);
    assert.deepEqual(
      [status, otherFields, details],
      [200, { instance_id: emulator.instanceId }, { pid: process.pid, run_file: null, machine: details.machine }],
    );
    const forwarded = { "x-forwarded-for": "192.0.2.7" };
    assert.deepEqual(pickStatusAndBody(await emulator.router("GET", "/_emulator/live", { headers: forwarded })), {
      status: 200,
      body: { instance_id: emulator.instanceId },
    });
  });

  it("omits the pid behind a proxy that may forward without a trace", async (t) => {
    const emulator = await startTestEmulator(t, { publicUrl: "https://svc.example" });
    const { body } = await emulator.router("GET", "/_emulator/live");
    assert.deepEqual(body, { instance_id: emulator.instanceId, public_url: "https://svc.example" });
  });
});
