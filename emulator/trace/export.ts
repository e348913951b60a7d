import { toSpan } from "../../src/api/trace-span.ts";
import { toIsoMillis, type WallClock } from "../../src/base/clock.ts";
import { buildOtlpDocument, type SpanAttributes } from "../../src/base/otel.ts";
import { pluralize } from "../../src/base/text.ts";
import { withTimeout } from "../../src/base/timing.ts";
import { svcVersion } from "../../src/base/version.ts";
import type { ExportResult, SpanCollector } from "../http/outgoing/span-collector.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import { causes } from "../store/causes.ts";
import type { CauseRow, RowChange, Store } from "../store/port.ts";
import {
  attempts,
  type Delivery,
  type DeliveryAttempt,
  deliveries,
  toAttemptName,
  toDeliveryName,
  toEventName,
  type WebhookEvent,
  webhookEvents,
} from "../webhooks/deliveries.ts";
import { gatherTraceNodes } from "./gather.ts";
import { PendingResponses, type RequestOutcome } from "./pending-responses.ts";
import { buildTrace } from "./tree.ts";

/** Queue and batch have the standard's defaults (OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE). */
const maxQueuedSpans = 2_048;
const maxBatchSpans = 512;
/** Time for which spans are collected before a batch is sent. */
const batchDelayMs = 200;
/** Delays after temporary failures. Spans that still fail after the last retry are dropped. */
const retryDelaysMs = [1_000, 2_000, 4_000, 8_000, 16_000];
/** Maximum time for which the shutdown of the emulator waits for the remaining spans. */
const maxShutdownMs = 2_000;

interface ExporterOptions {
  readonly store: Store;
  readonly wall: WallClock;
  readonly requestLog: RequestLog;
  readonly collector: SpanCollector;
  readonly resource: SpanAttributes;
  /** True if spans have no wall-clock times. */
  readonly deterministic: boolean;
  /** Called with a message when exports start to fail, and with the number of lost spans at the end. */
  readonly log: (line: string) => void;
}

interface FinishedCause {
  readonly outcome: RequestOutcome | undefined;
  /** Approximate wall-clock time of the event, which is published as soon as it is durable. */
  readonly wallAt: number;
}

/**
 * Exports each node of every trace as a span when it is durable, and a request when its response is sent. Writers only
 * add a name to a bounded queue, and the span is read when it is sent. A delivery is exported at its start, because its
 * attempts contain its outcome.
 */
export class TraceExporter {
  readonly #options: ExporterOptions;
  readonly #queue = new Map<string, FinishedCause>();
  readonly #pendingResponses: PendingResponses;
  readonly #unwatch: () => void;
  readonly #closing = new AbortController();
  readonly #loop: Promise<void>;
  #wake = () => {};
  #inFlight = 0;
  #sent = 0;
  /** Number of spans that did not fit into the queue, or could not be sent. */
  #dropped = 0;
  /** Reason for the failure of the last POST, in a word. Null if the POST succeeded. */
  #error: string | null = null;

  constructor(options: ExporterOptions) {
    this.#options = options;
    const { store, requestLog } = options;
    this.#pendingResponses = new PendingResponses(requestLog, (name, outcome) => this.#enqueue(name, outcome));
    this.#unwatch = store.watch([causes, webhookEvents, deliveries, attempts], (changes) => {
      if (changes === "replaced") this.#pendingResponses.forget();
      else if (changes !== "writable") for (const change of changes) this.#add(getRowName(change));
    });
    this.#loop = this.#run();
  }

  get amount() {
    const waiting = this.#waitingCount + this.#inFlight;
    return { sent: this.#sent, waiting, dropped: this.#dropped, error: this.#error };
  }

  /** Sends the remaining spans, for at most two seconds, or until `closeSignal` is aborted. */
  async close(closeSignal: AbortSignal): Promise<void> {
    this.#unwatch();
    this.#pendingResponses.close();
    this.#closing.abort();
    this.#wake();
    const { wall, collector, log } = this.#options;
    await withTimeout(wall, maxShutdownMs, this.#loop, closeSignal);
    const lostCount = this.#queue.size + this.#inFlight;
    this.#queue.clear();
    await collector.close();
    if (lostCount > 0)
      log(
        `${pluralize(lostCount, "span was", "spans were")} not exported to ${collector.origin}: ${this.#error ?? "shutdown timed out"}`,
      );
  }

  #add(name: string | undefined): void {
    if (name === undefined) return;
    if (this.#waitingCount >= maxQueuedSpans) this.#dropped += 1;
    else if (!this.#pendingResponses.wait(name)) this.#enqueue(name, undefined);
  }

  #enqueue(name: string, outcome: RequestOutcome | undefined): void {
    this.#queue.set(name, { outcome, wallAt: outcome?.wallAt ?? this.#options.wall.now() });
    this.#wake();
  }

  get #waitingCount(): number {
    return this.#queue.size + this.#pendingResponses.pendingCount;
  }

  async #run(): Promise<void> {
    const { wall } = this.#options;
    const closing = this.#closing.signal;
    for (;;) {
      if (this.#queue.size === 0) {
        if (closing.aborted) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = () => {};
      }
      if (this.#queue.size < maxBatchSpans) await wall.sleep(batchDelayMs, closing);
      await this.#sendBatch();
    }
  }

  async #sendBatch(): Promise<void> {
    const names = new Map<string, FinishedCause>();
    for (const [name, finishedCause] of this.#queue) {
      if (names.size >= maxBatchSpans) break;
      names.set(name, finishedCause);
      this.#queue.delete(name);
    }
    this.#inFlight = names.size;
    const spans = this.#gatherSpans(names);
    const { resource } = this.#options;
    const body = JSON.stringify(buildOtlpDocument(spans, resource, { name: "svc", version: svcVersion }));
    const acceptedCount = spans.length === 0 ? 0 : await this.#deliverSpans(body, spans.length);
    this.#inFlight = 0;
    this.#sent += acceptedCount;
    this.#dropped += names.size - acceptedCount;
  }

  /** Skips nodes that no longer exist, for example after a reset. */
  #gatherSpans(names: ReadonlyMap<string, FinishedCause>) {
    const { store, deterministic } = this.#options;
    const rows = gatherTraceNodes(store, names.keys());
    if (!rows) return [];
    const { nodes } = buildTrace(rows, {
      describeJob: () => undefined,
      findOutcome: (cause) => names.get(cause)?.outcome,
    });
    return nodes.flatMap((node) => {
      const finishedCause = names.get(node.id);
      if (!finishedCause) return [];
      return toSpan(deterministic ? { ...node, wall_at: toIsoMillis(finishedCause.wallAt) } : node);
    });
  }

  async #deliverSpans(body: string, count: number): Promise<number> {
    const { collector, wall } = this.#options;
    for (let retry = 0; ; retry += 1) {
      const result = await collector.post(body);
      const problem = describeProblem(result);
      this.#report(problem);
      if ("status" in result && problem === null) return Math.max(0, count - countRejected(result.body));
      const pauseMs = retryDelaysMs[retry];
      if (!isRetryable(result) || pauseMs === undefined || this.#closing.signal.aborted) return 0;
      await wall.sleep(pauseMs, this.#closing.signal);
    }
  }

  #report(problem: string | null): void {
    const { log, collector } = this.#options;
    const previousProblem = this.#error;
    this.#error = problem;
    if (problem !== null && previousProblem === null) {
      log(
        `spans cannot be exported to ${collector.origin}: ${problem}. Spans beyond the buffer are dropped and counted`,
      );
    } else if (problem === null && previousProblem !== null) log(`spans are exported to ${collector.origin} again`);
  }
}

/** Only new rows are exported. A delivery is written again with each attempt and postponement. */
function getRowName({ collection, before, after }: RowChange): string | undefined {
  if (after === undefined || before !== undefined) return undefined;
  switch (collection) {
    case causes.name:
      return (after as CauseRow).id;
    case webhookEvents.name:
      return toEventName((after as WebhookEvent).id);
    case deliveries.name:
      return toDeliveryName((after as Delivery).id);
    default:
      return toAttemptName((after as DeliveryAttempt).delivery_id, (after as DeliveryAttempt).number);
  }
}

const describeProblem = (result: ExportResult): string | null => {
  if ("reason" in result) return result.reason;
  return result.status >= 200 && result.status < 300 ? null : `it responded with status ${result.status}`;
};

/** OTLP, "Retryable Response Codes". */
const isRetryable = (result: ExportResult): boolean =>
  "reason" in result || [429, 502, 503, 504].includes(result.status);

/** The response contains the number of rejected spans (OTLP, "Partial Success"). */
function countRejected(body: Buffer): number {
  const count = /"rejectedSpans"\s*:\s*"?(\d{1,9})/.exec(body.toString("utf8"))?.[1];
  return Number(count ?? 0);
}
