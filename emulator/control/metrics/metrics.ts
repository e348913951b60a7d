import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import { expositionTypes } from "../../../src/api/emulator/lifecycle.ts";
import { clockModes } from "../../../src/base/clock.ts";
import { svcVersion } from "../../../src/base/version.ts";
import { reply } from "../../http/reply.ts";
import { deliveries } from "../../webhooks/deliveries.ts";
import type { ControlContext, ControlHandlers } from "../context.ts";
import {
  createHistogramSamples,
  durationBucketBounds,
  formatMetrics,
  type MetricCounters,
  type MetricFamily,
  type MetricSample,
  statusClasses,
} from "./counters.ts";

export const metricsHandlers = {
  "emulator.metrics": (_, context) => {
    const families = [
      ...listCounters(context.counters),
      ...readState(context),
      ...listInstance(context),
      ...listProcess(),
    ];
    const format = acceptsOpenMetrics(context.request.headers.accept) ? "openMetrics" : "plainText";
    return reply(200, Buffer.from(formatMetrics(families, format)), {
      "content-type": expositionTypes[format],
      vary: "accept",
    });
  },
} satisfies ControlHandlers;

const toSamples = (label: string, values: Iterable<readonly [string, number]>): MetricSample[] =>
  [...values].map(([name, value]) => ({ labels: { [label]: name }, value }));

function listCounters({ requests, durations, attempts, outcomes }: MetricCounters): MetricFamily[] {
  const requestSamples = [...requests].flatMap(([service, operations]) =>
    [...operations].flatMap(([operation, classes]) =>
      classes.map((value, i) => ({
        labels: { service, operation: operation || "none", class: statusClasses[i]! },
        value,
      })),
    ),
  );
  const bounds = durationBucketBounds.map((ms) => ms / 1_000);
  const durationSamples = [...durations].flatMap(([service, { counts, sumMs }]) =>
    createHistogramSamples({ service }, bounds, counts, sumMs / 1_000),
  );
  const requestsHelp = "Completed requests; class none: the connection ended without a response.";
  const durationsHelp = "Duration of requests on the wall clock.";
  const attemptsHelp = "Webhook delivery attempts, by class of the response; error: no response.";
  return [
    ["counter", "svc_requests", requestsHelp, requestSamples.filter(({ value }) => value > 0)],
    ["histogram", "svc_request_duration_seconds", durationsHelp, durationSamples, "seconds"],
    ["counter", "svc_delivery_attempts", attemptsHelp, toSamples("result", attempts)],
    ["counter", "svc_delivery_outcomes", "Changes of delivery outcomes.", toSamples("outcome", outcomes)],
  ];
}

/** Returns the current values. The state returns counts without reading the rows. */
function readState({ store, runner, requestLog }: ControlContext): MetricFamily[] {
  const { now, mode, speed, next_due, pending } = runner.readStatus();
  const waiting = ["waiting", "retrying"].map(
    (outcome) => [outcome, store.count(deliveries, { by: "outcome", equals: outcome })] as const,
  );
  const modes = clockModes.map((name) => [name, Number(name === mode)] as const);
  const { count, bytes, dropped } = requestLog.amount;
  const waitingHelp = "Deliveries without a final outcome; retrying: an attempt failed.";
  const nextDueHelp = "Virtual time of the next scheduled entry; 0 without one.";
  return [
    ["gauge", "svc_deliveries_waiting", waitingHelp, toSamples("outcome", waiting)],
    ["gauge", "svc_schedule_entries", "Scheduled entries.", pending],
    ["gauge", "svc_schedule_next_due_seconds", nextDueHelp, (next_due ?? 0) / 1_000, "seconds"],
    ["gauge", "svc_clock_time_seconds", "Virtual time, since the epoch.", now / 1_000, "seconds"],
    ["gauge", "svc_clock_speed", "Virtual seconds per real second, in mode real.", speed],
    ["gauge", "svc_clock_mode", "1 for the mode of the clock.", toSamples("mode", modes)],
    ["gauge", "svc_store_writable", "1 if the state can be saved to disk, 0 if not.", Number(store.writable)],
    ["gauge", "svc_request_log_entries", "Requests retained in memory.", count],
    ["gauge", "svc_request_log_bytes", "Approximate memory of the requests.", bytes, "bytes"],
    ["gauge", "svc_request_log_dropped", "Requests dropped since the log was cleared.", dropped],
  ];
}

/** Only a shared store has roles. A standby forwards the scrape, so this process leads. */
function listInstance({ instance }: ControlContext): MetricFamily[] {
  const { instance_id, role, leader } = instance.getReadiness();
  if (role === undefined || leader === undefined) return [];
  const labels = { instance_id, role, leader: leader ?? "" };
  const help = "Always 1; the role of this process in its store, and the URL of the leader.";
  return [["gauge", "svc_role", help, [{ labels, value: 1 }]]];
}

/** All emulators of a process share one monitor, which starts with the first scrape. */
let eventLoopDelay: IntervalHistogram | undefined;

function listProcess(): MetricFamily[] {
  eventLoopDelay ??= startDelayMonitor();
  const delay = eventLoopDelay;
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { active, idle } = performance.eventLoopUtilization();
  const heap = Object.entries({ used: heapUsed, total: heapTotal, external });
  const getDelay = (percentile: number) => (delay.count === 0 ? 0 : delay.percentile(percentile) / 1e9);
  const delays = [50, 99, 100].map((percentile) => [`${percentile / 100}`, getDelay(percentile)] as const);
  delay.reset();
  const startedAt = performance.timeOrigin / 1_000;
  const startHelp = "Start time of the process, since the epoch.";
  const delayHelp = "Event loop delay since the last scrape; absent before the first.";
  const build = [{ labels: { version: svcVersion, node: process.version }, value: 1 }];
  return [
    ["gauge", "process_resident_memory_bytes", "Resident memory of the process.", rss, "bytes"],
    ["counter", "process_cpu_seconds", "Total processor time.", (user + system) / 1e6, "seconds"],
    ["gauge", "process_start_time_seconds", startHelp, startedAt, "seconds"],
    ["gauge", "nodejs_heap_bytes", "Memory of the JavaScript heap.", toSamples("kind", heap), "bytes"],
    ["counter", "nodejs_eventloop_active_seconds", "Active time of the event loop.", active / 1_000, "seconds"],
    ["counter", "nodejs_eventloop_idle_seconds", "Idle time of the event loop.", idle / 1_000, "seconds"],
    ["gauge", "nodejs_eventloop_delay_seconds", delayHelp, toSamples("quantile", delays), "seconds"],
    ["gauge", "svc_build", "Always 1; the versions of svc and Node.", build],
  ];
}

function startDelayMonitor(): IntervalHistogram {
  const monitor = monitorEventLoopDelay({ resolution: 20 });
  monitor.enable();
  return monitor;
}

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
