import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import { deliveryOutcomes } from "../../../src/api/delivery-outcomes.ts";
import { expositionTypes } from "../../../src/api/emulator/lifecycle.ts";
import { svcVersion } from "../../../src/base/version.ts";
import { reply } from "../../http/reply.ts";
import { deliveries } from "../../webhooks/deliveries.ts";
import type { ControlContext, ControlHandlers } from "../context.ts";
import {
  type Counters,
  durationBounds,
  type Family,
  formatOpenMetrics,
  formatPrometheusText,
  type Sample,
  statusClasses,
} from "./counters.ts";

export const metricsHandlers = {
  "emulator.metrics": async (_, world) => {
    const families = [
      ...counted(world.counters),
      ...(await present(world)),
      ...standing(world),
      ...getProcessMetrics(),
    ];
    const isOpen = takesOpenMetrics(world.request.headers.accept);
    return reply(200, Buffer.from(isOpen ? formatOpenMetrics(families) : formatPrometheusText(families)), {
      "content-type": isOpen ? expositionTypes.openMetrics : expositionTypes.plainText,
      vary: "accept",
    });
  },
} satisfies ControlHandlers<MetricsSource & Pick<ControlContext, "wall" | "ids">>;

type MetricsSource = Pick<ControlContext, "counters" | "store" | "clock" | "runner" | "requestLog" | "instance">;

function counted({ requests, durations, attempts, outcomes }: Counters): Family[] {
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
        bounds: durationBounds.map((ms) => ms / 1_000),
        counts,
        sum: sumMs / 1_000,
      })),
    },
    {
      name: "svc_delivery_attempts",
      type: "counter",
      help: "Webhook delivery attempts, by class of the response; error: no response.",
      samples: samplesOf("result", attempts),
    },
    {
      name: "svc_delivery_outcomes",
      type: "counter",
      help: "Changes of delivery outcomes.",
      samples: samplesOf("outcome", outcomes),
    },
  ];
}

/** Present values: the state returns counts, without reading the rows. */
async function present({ store, runner, requestLog }: MetricsSource): Promise<Family[]> {
  const { now, mode, speed, next_due, pending } = await runner.status();
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
    gauge("svc_schedule_entries", "Scheduled entries.", pending),
    gauge(
      "svc_schedule_next_due_seconds",
      "Virtual time of the next scheduled entry; 0 without one.",
      (next_due ?? 0) / 1_000,
      "seconds",
    ),
    gauge("svc_clock_time_seconds", "Virtual time, since the epoch.", now / 1_000, "seconds"),
    gauge("svc_clock_speed", "Virtual seconds per real second, in mode real.", speed),
    {
      name: "svc_clock_mode",
      type: "gauge",
      help: "1 for the mode of the clock.",
      samples: ["real", "manual", "auto"].map((one) => ({ labels: { mode: one }, value: Number(one === mode) })),
    },
    gauge("svc_store_writable", "1 if the state can be saved to disk, 0 if not.", Number(store.writable)),
    gauge("svc_request_log_entries", "Requests kept in memory.", count),
    gauge("svc_request_log_bytes", "Approximate memory of the requests.", bytes, "bytes"),
    gauge("svc_request_log_dropped", "Requests dropped since the log was cleared.", dropped),
  ];
}

/** Empty if no store is shared. A standby forwards the scrape, so this is always the leader. */
function standing({ instance }: MetricsSource): Family[] {
  const { instance_id, role, leader } = instance.readiness();
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

/** One for all emulators of a process. The first request starts it: without requests it costs nothing. */
let delay: IntervalHistogram | undefined;

function getProcessMetrics(): Family[] {
  delay ??= begunDelay();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { active, idle } = performance.eventLoopUtilization();
  const seconds = (nanoseconds: number) => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);
  const families: Family[] = [
    gauge("process_resident_memory_bytes", "Resident memory of the process.", rss, "bytes"),
    counter("process_cpu_seconds", "Total processor time.", (user + system) / 1e6, "seconds"),
    gauge(
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
    counter("nodejs_eventloop_active_seconds", "Active time of the event loop.", active / 1_000, "seconds"),
    counter("nodejs_eventloop_idle_seconds", "Idle time of the event loop.", idle / 1_000, "seconds"),
    {
      name: "nodejs_eventloop_delay_seconds",
      type: "gauge",
      unit: "seconds",
      help: "Event loop delay since the last scrape; absent before the first.",
      samples: [50, 99, 100].map((of) => ({
        labels: { quantile: String(of / 100) },
        value: delay!.count === 0 ? 0 : seconds(delay!.percentile(of)),
      })),
    },
    {
      name: "svc_build",
      type: "gauge",
      help: "Always 1; the versions of svc and Node.",
      samples: [{ labels: { version: svcVersion, node: process.version }, value: 1 }],
    },
  ];
  delay.reset();
  return families;
}

function begunDelay(): IntervalHistogram {
  const begun = monitorEventLoopDelay({ resolution: 20 });
  begun.enable();
  return begun;
}

const gauge = (name: string, help: string, value: number, unit?: Family["unit"]): Family => ({
  ...{ name, help, type: "gauge", samples: [{ value }] },
  ...(unit !== undefined && { unit }),
});

const counter = (name: string, help: string, value: number, unit: NonNullable<Family["unit"]>): Family => ({
  ...{ name, help, unit, type: "counter", samples: [{ value }] },
});

const samplesOf = (label: string, counts: ReadonlyMap<string, number>): Sample[] =>
  [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));

/** A part of an Accept header: a range of types with its parameters, and how much it is wanted. */
interface Range {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly weight: number;
}

/**
 * Whether a scraper prefers OpenMetrics to the text format: by the most specific range that fits each (RFC 9110,
 * 12.5.1). A scraper that accepts everything alike gets the text, as from exporters of others.
 */
function takesOpenMetrics(accept: string | undefined): boolean {
  const ranges = rangesOf(accept ?? "");
  const open = weightOf(ranges, "application/openmetrics-text", "1.0.0") ?? weightOf(ranges, "application/*");
  if (open === undefined || open === 0) return false;
  const plain = weightOf(ranges, "text/plain", "0.0.4") ?? weightOf(ranges, "text/*") ?? weightOf(ranges, "*/*");
  return open >= (plain ?? 0);
}

/** Ranges of the type that accept the version, whether they name it or none. */
function weightOf(ranges: readonly Range[], type: string, version?: string): number | undefined {
  const weights = ranges
    .filter((range) => range.type === type && [undefined, version].includes(range.parameters.get("version")))
    .map(({ weight }) => weight);
  return weights.length === 0 ? undefined : Math.max(...weights);
}

const rangesOf = (accept: string): Range[] =>
  accept.split(",").map((one) => {
    const [type = "", ...pairs] = one.split(";");
    const parameters = new Map(pairs.map(parameterOf));
    const weight = Number(parameters.get("q") ?? 1);
    return { type: type.trim().toLowerCase(), parameters, weight: Number.isNaN(weight) ? 0 : weight };
  });

function parameterOf(pair: string): [name: string, value: string] {
  const [name = "", value = ""] = pair.split("=", 2);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")];
}
