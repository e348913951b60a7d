import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import { expositionTypes } from "../../../src/api/emulator/lifecycle.ts";
import { svcVersion } from "../../../src/base/version.ts";
import { reply } from "../../http/reply.ts";
import { deliveries } from "../../webhooks/deliveries.ts";
import type { ControlContext, ControlHandlers } from "../context.ts";
import {
  durationBucketBounds,
  formatOpenMetrics,
  formatPrometheusText,
  type MetricCounters,
  type MetricFamily,
  type MetricSample,
  statusClasses,
} from "./counters.ts";

export const metricsHandlers = {
  "emulator.metrics": async (_, context) => {
    const families = [
      ...getCounterFamilies(context.counters),
      ...(await readStateFamilies(context)),
      ...getInstanceFamilies(context),
      ...getProcessMetrics(),
    ];
    const usesOpenMetrics = acceptsOpenMetrics(context.request.headers.accept);
    return reply(200, Buffer.from(usesOpenMetrics ? formatOpenMetrics(families) : formatPrometheusText(families)), {
      "content-type": usesOpenMetrics ? expositionTypes.openMetrics : expositionTypes.plainText,
      vary: "accept",
    });
  },
} satisfies ControlHandlers;

function getCounterFamilies({ requests, durations, attempts, outcomes }: MetricCounters): MetricFamily[] {
  const requestSamples = [...requests].flatMap(([service, operations]) =>
    [...operations].flatMap(([operation, classes]) =>
      classes.map((value, i) => ({
        labels: { service, operation: operation || "none", class: statusClasses[i]! },
        value,
      })),
    ),
  );
  return [
    createFamily(
      "counter",
      "svc_requests",
      "Completed requests; class none: the connection ended without a response.",
      requestSamples.filter(({ value }) => value > 0),
    ),
    {
      name: "svc_request_duration_seconds",
      type: "histogram",
      unit: "seconds",
      help: "Duration of requests on the wall clock.",
      histograms: [...durations].map(([service, { counts, sumMs }]) => ({
        labels: { service },
        bounds: durationBucketBounds.map((ms) => ms / 1_000),
        counts,
        sum: sumMs / 1_000,
      })),
    },
    createFamily(
      "counter",
      "svc_delivery_attempts",
      "Webhook delivery attempts, by class of the response; error: no response.",
      toSamples("result", attempts),
    ),
    createFamily("counter", "svc_delivery_outcomes", "Changes of delivery outcomes.", toSamples("outcome", outcomes)),
  ];
}

/** Returns the current values. The state returns counts without reading the rows. */
async function readStateFamilies({ store, runner, requestLog }: ControlContext): Promise<MetricFamily[]> {
  const { now, mode, speed, next_due, pending } = await runner.readStatus();
  const waitingSamples = await store.read((view) =>
    Promise.all(
      ["waiting", "retrying"].map(async (outcome) => ({
        labels: { outcome },
        value: await view.count(deliveries, { by: "outcome", equals: outcome }),
      })),
    ),
  );
  const modes = ["real", "manual", "auto"].map((name) => ({ labels: { mode: name }, value: Number(name === mode) }));
  const nextDueSeconds = (next_due ?? 0) / 1_000;
  const { count, bytes, dropped } = requestLog.amount;
  return [
    createGauge(
      "svc_deliveries_waiting",
      "Deliveries without a final outcome; retrying: an attempt failed.",
      waitingSamples,
    ),
    createGauge("svc_schedule_entries", "Scheduled entries.", pending),
    createGauge(
      "svc_schedule_next_due_seconds",
      "Virtual time of the next scheduled entry; 0 without one.",
      nextDueSeconds,
      "seconds",
    ),
    createGauge("svc_clock_time_seconds", "Virtual time, since the epoch.", now / 1_000, "seconds"),
    createGauge("svc_clock_speed", "Virtual seconds per real second, in mode real.", speed),
    createGauge("svc_clock_mode", "1 for the mode of the clock.", modes),
    createGauge("svc_store_writable", "1 if the state can be saved to disk, 0 if not.", Number(store.writable)),
    createGauge("svc_request_log_entries", "Requests retained in memory.", count),
    createGauge("svc_request_log_bytes", "Approximate memory of the requests.", bytes, "bytes"),
    createGauge("svc_request_log_dropped", "Requests dropped since the log was cleared.", dropped),
  ];
}

/**
 * Returns an empty list unless a store is shared. A standby forwards the scrape, so this process is always the leader.
 */
function getInstanceFamilies({ instance }: ControlContext): MetricFamily[] {
  const { instance_id, role, leader } = instance.getReadiness();
  if (role === undefined || leader === undefined) return [];
  const labels = { instance_id, role, leader: leader ?? "" };
  const help = "Always 1; the role of this process in its store, and the URL of the leader.";
  return [createGauge("svc_role", help, [{ labels, value: 1 }])];
}

/** All emulators of a process share one monitor, which starts with the first scrape. */
let eventLoopDelay: IntervalHistogram | undefined;

function getProcessMetrics(): MetricFamily[] {
  eventLoopDelay ??= startDelayMonitor();
  const delay = eventLoopDelay;
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { active, idle } = performance.eventLoopUtilization();
  const heap = Object.entries({ used: heapUsed, total: heapTotal, external });
  const delays = [50, 99, 100].map((percentile) => ({
    labels: { quantile: String(percentile / 100) },
    value: delay.count === 0 ? 0 : delay.percentile(percentile) / 1e9,
  }));
  delay.reset();
  const startedAt = performance.timeOrigin / 1_000;
  return [
    createGauge("process_resident_memory_bytes", "Resident memory of the process.", rss, "bytes"),
    createFamily("counter", "process_cpu_seconds", "Total processor time.", (user + system) / 1e6, "seconds"),
    createGauge("process_start_time_seconds", "Start time of the process, since the epoch.", startedAt, "seconds"),
    createGauge("nodejs_heap_bytes", "Memory of the JavaScript heap.", toSamples("kind", heap), "bytes"),
    createFamily(
      "counter",
      "nodejs_eventloop_active_seconds",
      "Active time of the event loop.",
      active / 1_000,
      "seconds",
    ),
    createFamily("counter", "nodejs_eventloop_idle_seconds", "Idle time of the event loop.", idle / 1_000, "seconds"),
    createGauge(
      "nodejs_eventloop_delay_seconds",
      "Event loop delay since the last scrape; absent before the first.",
      delays,
      "seconds",
    ),
    createGauge("svc_build", "Always 1; the versions of svc and Node.", [
      { labels: { version: svcVersion, node: process.version }, value: 1 },
    ]),
  ];
}

function startDelayMonitor(): IntervalHistogram {
  const monitor = monitorEventLoopDelay({ resolution: 20 });
  monitor.enable();
  return monitor;
}

function createFamily(
  type: "counter" | "gauge",
  name: string,
  help: string,
  value: number | readonly MetricSample[],
  unit?: MetricFamily["unit"],
): MetricFamily {
  const samples = typeof value === "number" ? [{ value }] : value;
  return { name, help, type, samples, ...(unit !== undefined && { unit }) };
}

const createGauge = createFamily.bind(undefined, "gauge");

const toSamples = (label: string, counts: Iterable<readonly [string, number]>): MetricSample[] =>
  [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));

/**
 * Reports whether a scraper prefers OpenMetrics to the text format, by the most specific matching range of each (RFC
 * 9110, 12.5.1). A scraper without a preference gets the text format, which other exporters also default to.
 */
function acceptsOpenMetrics(accept = ""): boolean {
  const ranges = accept.split(",").map((range) => {
    const [type, ...pairs] = range.replaceAll(/[\s"]/g, "").toLowerCase().split(";");
    const parameters = new URLSearchParams(pairs.join("&"));
    return { type, version: parameters.get("version"), weight: Number(parameters.get("q") ?? 1) || 0 };
  });
  /** Returns the highest weight of the ranges of this type with this version or none. */
  const getWeight = (mediaType: string, supportedVersion?: string): number | undefined => {
    const matches = ranges.filter(
      ({ type, version }) => type === mediaType && (version === null || version === supportedVersion),
    );
    return matches.length === 0 ? undefined : Math.max(...matches.map(({ weight }) => weight));
  };
  const openMetricsWeight = getWeight("application/openmetrics-text", "1.0.0") ?? getWeight("application/*");
  if (openMetricsWeight === undefined || openMetricsWeight === 0) return false;
  const plainTextWeight = getWeight("text/plain", "0.0.4") ?? getWeight("text/*") ?? getWeight("*/*");
  return openMetricsWeight >= (plainTextWeight ?? 0);
}
