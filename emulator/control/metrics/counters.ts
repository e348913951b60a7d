import type { LoggedRequest, RequestLog } from "../../http/request-log/request-log.ts";
import type { DeliveryNotifier, DeliveryUpdate } from "../../webhooks/record.ts";

/** Upper bounds of the buckets, in milliseconds. */
export const durationBucketBounds = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000] as const;

/** Status classes. `none` means that the connection ended without a response. */
export const statusClasses = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

export interface DurationHistogram {
  /** Number of requests in each bucket, not cumulative. The last bucket has no bound. */
  readonly counts: number[];
  sumMs: number;
}

/** Counters of a process since its start. Each request and attempt takes constant time. */
export class MetricCounters {
  /**
   * Number of requests for each status class, by service and operation. The operation is empty if it is not declared.
   */
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
    let i = 0;
    while (i < durationBucketBounds.length && durationMs > durationBucketBounds[i]!) i += 1;
    durations.counts[i]! += 1;
    durations.sumMs += durationMs;
  }

  #countAttempt({ delivery, attempt }: DeliveryUpdate): void {
    if (attempt) {
      const { postResult } = attempt;
      const result = "status" in postResult ? statusClasses[toStatusClass(postResult.status)]! : "error";
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
  readonly labels?: Labels;
  readonly value: number;
}

export type MetricFamily = {
  readonly name: string;
  readonly help: string;
  readonly unit?: "seconds" | "bytes" | "ratio";
} & (
  | { readonly type: "counter" | "gauge"; readonly samples: readonly MetricSample[] }
  | { readonly type: "histogram"; readonly histograms: readonly Histogram[] }
);

interface Histogram {
  readonly labels: Labels;
  readonly bounds: readonly number[];
  /** Number of values in each bucket, not cumulative. The last bucket has no bound. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Formats metrics as OpenMetrics 1.0.0. */
export const formatOpenMetrics = (families: readonly MetricFamily[]): string =>
  `${families.flatMap(formatOpenMetricsLines).join("\n")}\n# EOF\n`;

/**
 * Formats metrics in Prometheus' text format 0.0.4. The format has no units and no end marker, and a family has the
 * name of its samples.
 */
export const formatPrometheusText = (families: readonly MetricFamily[]): string =>
  `${families.flatMap(formatPlainLines).join("\n")}\n`;

function formatOpenMetricsLines(family: MetricFamily): string[] {
  const { name, help, type, unit } = family;
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escapeLabel(help)}`,
    ...formatSampleLines(family),
  ];
}

function formatPlainLines(family: MetricFamily): string[] {
  const name = family.type === "counter" ? getTotalName(family) : family.name;
  return [`# TYPE ${name} ${family.type}`, `# HELP ${name} ${escapeText(family.help)}`, ...formatSampleLines(family)];
}

const getTotalName = ({ name }: MetricFamily): string => `${name}_total`;

function formatSampleLines(family: MetricFamily): string[] {
  if (family.type === "histogram")
    return family.histograms.flatMap((histogram) => formatHistogramLines(family.name, histogram));
  const name = family.type === "counter" ? getTotalName(family) : family.name;
  return family.samples.map(({ labels, value }) => formatLine(name, labels, value));
}

function formatHistogramLines(name: string, { labels, bounds, counts, sum }: Histogram): string[] {
  let cumulativeCount = 0;
  const buckets = counts.map((count, i) => {
    cumulativeCount += count;
    return formatLine(
      `${name}_bucket`,
      { ...labels, le: i < bounds.length ? formatDecimal(bounds[i]!) : "+Inf" },
      cumulativeCount,
    );
  });
  return [...buckets, formatLine(`${name}_count`, labels, cumulativeCount), formatLine(`${name}_sum`, labels, sum)];
}

const formatLine = (name: string, labels: Labels = {}, value: number): string =>
  `${name}${formatLabels(labels)} ${value}`;

function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeText = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const escapeLabel = (text: string): string => escapeText(text).replaceAll('"', '\\"');

const formatDecimal = (bound: number): string => (Number.isInteger(bound) ? `${bound}.0` : String(bound));
