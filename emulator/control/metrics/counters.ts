import type { LoggedRequest, RequestLog } from "../../http/request-log/request-log.ts";
import type { DeliveryNotifier, DeliveryUpdate } from "../../webhooks/record.ts";

/** Upper bounds of the buckets, in milliseconds. */
export const durationBucketBounds = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000] as const;

/** Status classes. `none` means that the connection ended without a response. */
export const statusClasses = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

interface DurationHistogram {
  /** Number of requests in each bucket, not cumulative. The last bucket has no bound. */
  readonly counts: number[];
  sumMs: number;
}

/** Counters of a process since its start. Each request and attempt takes constant time. */
export class MetricCounters {
  /** Requests of each status class, by service and operation, which is empty if it is not declared. */
  readonly requests = new Map<string, Map<string, number[]>>();
  readonly durations = new Map<string, DurationHistogram>();
  readonly attempts = new Map<string, number>();
  /** Number of deliveries by outcome. Each planned retry counts as `retrying`. */
  readonly outcomes = new Map<string, number>();

  constructor(requestLog: RequestLog, deliveries: DeliveryNotifier) {
    requestLog.watch((entry) => this.#count(entry));
    deliveries.watch((outcome) => this.#countAttempt(outcome));
  }

  #count({ service, operation = "", status, durationMs }: LoggedRequest): void {
    const operations = getOrCreate(this.requests, service, () => new Map<string, number[]>());
    getOrCreate(operations, operation, () => statusClasses.map(() => 0))[toStatusClass(status)]! += 1;
    const durations = getOrCreate(this.durations, service, () => ({
      counts: [...durationBucketBounds.map(() => 0), 0],
      sumMs: 0,
    }));
    const bucket = durationBucketBounds.findIndex((bound) => durationMs <= bound);
    durations.counts[bucket === -1 ? durationBucketBounds.length : bucket]! += 1;
    durations.sumMs += durationMs;
  }

  #countAttempt({ delivery, attempt }: DeliveryUpdate): void {
    if (attempt) {
      const result = attempt.status === null ? "error" : statusClasses[toStatusClass(attempt.status)]!;
      this.attempts.set(result, (this.attempts.get(result) ?? 0) + 1);
    }
    this.outcomes.set(delivery.outcome, (this.outcomes.get(delivery.outcome) ?? 0) + 1);
  }
}

/** External servers can respond with any three digits. */
const toStatusClass = (status: number): number => Math.min(statusClasses.length - 1, Math.floor(status / 100));

function getOrCreate<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const value = create();
  map.set(key, value);
  return value;
}

type Labels = Readonly<Record<string, string>>;

export interface MetricSample {
  /** End of the name of a sample of a histogram. */
  readonly suffix?: string;
  readonly labels?: Labels;
  readonly value: number;
}

/** A family with one value, or with several samples. */
export type MetricFamily = readonly [
  type: "counter" | "gauge" | "histogram",
  name: string,
  help: string,
  value: number | readonly MetricSample[],
  unit?: "seconds" | "bytes",
];

/** Returns the samples of a histogram. `counts` are not cumulative. The last bucket has no bound. */
export function createHistogramSamples(
  labels: Labels,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): MetricSample[] {
  let value = 0;
  const buckets = counts.map((count, i) => {
    value += count;
    const bound = bounds[i] ?? "+Inf";
    return { suffix: "_bucket", labels: { ...labels, le: Number.isInteger(bound) ? `${bound}.0` : `${bound}` }, value };
  });
  return [...buckets, { suffix: "_count", labels, value }, { suffix: "_sum", labels, value: sum }];
}

/**
 * Formats metrics as OpenMetrics 1.0.0, or in Prometheus' text format 0.0.4. The latter has no units and no end marker,
 * and a family has the name of its samples.
 */
export function formatMetrics(families: readonly MetricFamily[], format: "openMetrics" | "plainText"): string {
  const isOpen = format === "openMetrics";
  const lines = families.flatMap(([type, name, help, value, unit]) => {
    const samples = typeof value === "number" ? [{ value }] : value;
    const sampleName = type === "counter" ? `${name}_total` : name;
    const familyName = isOpen ? name : sampleName;
    return [
      `# TYPE ${familyName} ${type}`,
      ...(isOpen && unit !== undefined ? [`# UNIT ${name} ${unit}`] : []),
      `# HELP ${familyName} ${isOpen ? escapeLabel(help) : escapeText(help)}`,
      ...samples.map(
        ({ suffix = "", labels, value }: MetricSample) => `${sampleName}${suffix}${formatLabels(labels)} ${value}`,
      ),
    ];
  });
  return [...lines, ...(isOpen ? ["# EOF"] : []), ""].join("\n");
}

function formatLabels(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeText = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const escapeLabel = (text: string): string => escapeText(text).replaceAll('"', '\\"');
