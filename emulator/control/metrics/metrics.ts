import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import { deliveryOutcomes } from "../../../src/api/delivery-outcomes.ts";
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
    const isOpen = acceptsOpenMetrics(context.request.headers.accept);
    return reply(200, Buffer.from(isOpen ? formatOpenMetrics(families) : formatPrometheusText(families)), {
      "content-type": isOpen ? expositionTypes.openMetrics : expositionTypes.plainText,
      vary: "accept",
    });
  },
} satisfies ControlHandlers<MetricsSource & Pick<ControlContext, "wall" | "ids">>;

type MetricsSource = Pick<ControlContext, "counters" | "store" | "clock" | "runner" | "requestLog" | "instance">;

function getCounterFamilies({ requests, durations, attempts, outcomes }: MetricCounters): MetricFamily[] {
  return [
    {
      name: "svc_requests",
      type: "counter",
      help: "Completed requests; class none: the connection ended without a response.",
      samples: [...requests].flatMap(([service, operations]) =>
        [...operations].flatMap(([operation, classes]) =>
          classes.flatMap((value, i) =>
            value === 0
              ? []
              : [{ labels: { service, operation: operation || "none", class: statusClasses[i]! }, value }],
          ),
        ),
      ),
    },
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
    {
      name: "svc_delivery_attempts",
      type: "counter",
      help: "Webhook delivery attempts, by class of the response; error: no response.",
      samples: toSamples("result", attempts),
    },
    {
      name: "svc_delivery_outcomes",
      type: "counter",
      help: "Changes of delivery outcomes.",
      samples: toSamples("outcome", outcomes),
    },
  ];
}

/** Returns the current values. The state returns counts without reading the rows. */
async function readStateFamilies({ store, runner, requestLog }: MetricsSource): Promise<MetricFamily[]> {
  const { now, mode, speed, next_due, pending } = await runner.readStatus();
  const unsettled = deliveryOutcomes.filter((outcome) => outcome === "waiting" || outcome === "retrying");
  const waiting = await store.read((view) =>
    Promise.all(unsettled.map((outcome) => view.count(deliveries, { by: "outcome", equals: outcome }))),
  );
  const { count, bytes, dropped } = requestLog.amount;
  return [
    {
      name: "svc_deliveries_waiting",
      type: "gauge",
      help: "Deliveries without a final outcome; retrying: an attempt failed.",
      samples: unsettled.map((outcome, i) => ({ labels: { outcome }, value: waiting[i]! })),
    },
    createGauge("svc_schedule_entries", "Scheduled entries.", pending),
    createGauge(
      "svc_schedule_next_due_seconds",
      "Virtual time of the next scheduled entry; 0 without one.",
      (next_due ?? 0) / 1_000,
      "seconds",
    ),
    createGauge("svc_clock_time_seconds", "Virtual time, since the epoch.", now / 1_000, "seconds"),
    createGauge("svc_clock_speed", "Virtual seconds per real second, in mode real.", speed),
    {
      name: "svc_clock_mode",
      type: "gauge",
      help: "1 for the mode of the clock.",
      samples: ["real", "manual", "auto"].map((one) => ({ labels: { mode: one }, value: Number(one === mode) })),
    },
    createGauge("svc_store_writable", "1 if the state can be saved to disk, 0 if not.", Number(store.writable)),
    createGauge("svc_request_log_entries", "Requests kept in memory.", count),
    createGauge("svc_request_log_bytes", "Approximate memory of the requests.", bytes, "bytes"),
    createGauge("svc_request_log_dropped", "Requests dropped since the log was cleared.", dropped),
  ];
}

/**
 * Returns an empty list unless a store is shared. A standby forwards the scrape, so this process is always the leader.
 */
function getInstanceFamilies({ instance }: MetricsSource): MetricFamily[] {
  const { instance_id, role, leader } = instance.getReadiness();
  if (role === undefined || leader === undefined) return [];
  return [
    {
      name: "svc_role",
      type: "gauge",
      help: "Always 1; the role of this process in its store, and the URL of the leader.",
      samples: [{ labels: { instance_id, role, leader: leader ?? "" }, value: 1 }],
    },
  ];
}

/** All emulators of a process share one monitor. It starts with the first scrape, so it costs nothing before. */
let eventLoopDelay: IntervalHistogram | undefined;

function getProcessMetrics(): MetricFamily[] {
  eventLoopDelay ??= startDelayMonitor();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { active, idle } = performance.eventLoopUtilization();
  const toSeconds = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);
  const families: MetricFamily[] = [
    createGauge("process_resident_memory_bytes", "Resident memory of the process.", rss, "bytes"),
    createCounter("process_cpu_seconds", "Total processor time.", (user + system) / 1e6, "seconds"),
    createGauge(
      "process_start_time_seconds",
      "Start time of the process, since the epoch.",
      performance.timeOrigin / 1_000,
      "seconds",
    ),
    {
      name: "nodejs_heap_bytes",
      type: "gauge",
      unit: "bytes",
      help: "Memory of the JavaScript heap.",
      samples: Object.entries({ used: heapUsed, total: heapTotal, external }).map(([kind, value]) => ({
        labels: { kind },
        value,
      })),
    },
    createCounter("nodejs_eventloop_active_seconds", "Active time of the event loop.", active / 1_000, "seconds"),
    createCounter("nodejs_eventloop_idle_seconds", "Idle time of the event loop.", idle / 1_000, "seconds"),
    {
      name: "nodejs_eventloop_delay_seconds",
      type: "gauge",
      unit: "seconds",
      help: "Event loop delay since the last scrape; absent before the first.",
      samples: [50, 99, 100].map((of) => ({
        labels: { quantile: String(of / 100) },
        value: eventLoopDelay!.count === 0 ? 0 : toSeconds(eventLoopDelay!.percentile(of)),
      })),
    },
    {
      name: "svc_build",
      type: "gauge",
      help: "Always 1; the versions of svc and Node.",
      samples: [{ labels: { version: svcVersion, node: process.version }, value: 1 }],
    },
  ];
  eventLoopDelay.reset();
  return families;
}

function startDelayMonitor(): IntervalHistogram {
  const monitor = monitorEventLoopDelay({ resolution: 20 });
  monitor.enable();
  return monitor;
}

const createGauge = (name: string, help: string, value: number, unit?: MetricFamily["unit"]): MetricFamily => ({
  ...{ name, help, type: "gauge", samples: [{ value }] },
  ...(unit !== undefined && { unit }),
});

const createCounter = (
  name: string,
  help: string,
  value: number,
  unit: NonNullable<MetricFamily["unit"]>,
): MetricFamily => ({
  ...{ name, help, unit, type: "counter", samples: [{ value }] },
});

const toSamples = (label: string, counts: ReadonlyMap<string, number>): MetricSample[] =>
  [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly weight: number;
}

/**
 * Reports whether a scraper prefers OpenMetrics to the text format, by the most specific matching range of each (RFC
 * 9110, 12.5.1). A scraper without a preference gets the text format, which other exporters also default to.
 */
function acceptsOpenMetrics(accept: string | undefined): boolean {
  const ranges = parseRanges(accept ?? "");
  const open = getWeight(ranges, "application/openmetrics-text", "1.0.0") ?? getWeight(ranges, "application/*");
  if (open === undefined || open === 0) return false;
  const plain = getWeight(ranges, "text/plain", "0.0.4") ?? getWeight(ranges, "text/*") ?? getWeight(ranges, "*/*");
  return open >= (plain ?? 0);
}

/** Returns the highest weight of the ranges of this type with this version or none. */
function getWeight(ranges: readonly MediaRange[], type: string, version?: string): number | undefined {
  const weights = ranges
    .filter((range) => range.type === type && [undefined, version].includes(range.parameters.get("version")))
    .map(({ weight }) => weight);
  return weights.length === 0 ? undefined : Math.max(...weights);
}

const parseRanges = (accept: string): MediaRange[] =>
  accept.split(",").map((one) => {
    const [type = "", ...pairs] = one.split(";");
    const parameters = new Map(pairs.map(parseParameter));
    const weight = Number(parameters.get("q") ?? 1);
    return { type: type.trim().toLowerCase(), parameters, weight: Number.isNaN(weight) ? 0 : weight };
  });

function parseParameter(pair: string): [name: string, value: string] {
  const [name = "", value = ""] = pair.split("=", 2);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")];
}
