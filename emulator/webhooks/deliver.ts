import { failuresUntilDisabled } from "../../src/api/webhook-retries.ts";
import { deriveSpanId } from "../../src/base/otel.ts";
import type { JobHandler } from "../clock/job-handler.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule } from "../clock/schedule.ts";
import { workspaces } from "../domain/workspaces.ts";
import type { AppliedFault, AttemptPostponement, FaultInterceptor } from "../faults/faults.ts";
import { causes } from "../store/causes.ts";
import type { Transaction, View } from "../store/port.ts";
import { type AttemptContext, type AttemptResult, createAttemptSender } from "./attempt.ts";
import {
  attempts,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryOutcome,
  deliveries,
  getEventTrace,
  toAttemptFault,
  toAttemptSpanName,
  type WebhookEvent,
  webhookEvents,
} from "./deliveries.ts";
import { purgeWebhookRecords } from "./log.ts";
import { type DeliveryNotifier, getRetentionEnd, recordOutcome } from "./record.ts";
import { webhookRows } from "./webhooks.ts";

interface DeliveryContext extends AttemptContext {
  readonly intervene?: FaultInterceptor | undefined;
  readonly notifier?: DeliveryNotifier | undefined;
}

/** Creates the handlers of attempts (DECISIONS.md, C18). The ref of an entry is the ID of its delivery. */
export function createDeliveryJobHandlers(context: DeliveryContext): {
  readonly deliver: JobHandler;
  readonly resend: JobHandler;
} {
  const { clock, settings, outgoing, notifier } = context;
  const sendAttempt = createAttemptSender(context);

  const createHandler = (resend: boolean): JobHandler => ({
    start(view, entry, signal) {
      const input = readAttemptInput(view, entry, resend);
      if (input === "gone") return (tx) => removeEntry(tx, entry);
      if (typeof input === "string") return (tx) => record(tx, { entry, result: input, resend });
      const fault = context.intervene?.(input);
      if (fault && "postponement" in fault)
        return (tx) => postponeAttempt(tx, entry, fault.postponement, fault, clock.now());
      abortAttemptsOn(signal);
      return sendAttempt(input, fault?.send).then((result) => (tx) => record(tx, { entry, result, resend, fault }));
    },
    readCapacity,
  });

  /** Rows are read before each attempt, because changes since the entry was scheduled apply (DECISIONS.md, C18). */
  function readAttemptInput(view: View, entry: ScheduledEntry, resend: boolean) {
    const delivery = view.get(deliveries, Number(entry.ref));
    if (!delivery) return "gone";
    const event = view.get(webhookEvents, delivery.event_id);
    const webhook = view.get(webhookRows, delivery.webhook_id);
    const workspace = view.get(workspaces, delivery.workspace_id);
    if (!event || !webhook || !workspace) return "skipped_deleted";
    if (!resend && webhook.status !== "ACTIVE") return "skipped_disabled";
    // The attempt was not made, so it is not a failure (DECISIONS.md, C16).
    if (outgoing.findForbiddenReason(webhook.url)) return "skipped_not_allowed";
    const scheduledNumber = getScheduledNumber(delivery, resend);
    return {
      delivery,
      scheduledNumber,
      event,
      webhook,
      hmacKey: workspace.hmac_key,
      traceContext: settings.traceWebhooks ? readTraceContext(view, entry, event, scheduledNumber) : undefined,
    };
  }

  let purgedAt = Number.NEGATIVE_INFINITY;
  /** Records are purged once per virtual time, because nothing expires while the clock is stopped. */
  function purgeExpired(tx: Transaction): void {
    const now = clock.now();
    if (now === purgedAt) return;
    purgedAt = now;
    purgeWebhookRecords(tx, now);
  }

  let watchedSignal: AbortSignal | undefined;
  /** Aborts all attempts with a single listener, because the dispatcher passes the same signal to every entry. */
  function abortAttemptsOn(signal: AbortSignal): void {
    if (signal === watchedSignal) return;
    watchedSignal = signal;
    signal.addEventListener("abort", () => outgoing.abort());
  }

  /** Records the outcome in the transaction that removes the entry from the queue. */
  function record(tx: Transaction, { entry, result, resend, fault }: EndedRun): string {
    purgeExpired(tx);
    const delivery = tx.get(deliveries, Number(entry.ref));
    if (!delivery) return removeEntry(tx, entry);
    if (typeof result === "string") {
      dequeue(tx, entry);
      // A resend that cannot be sent does not change the delivery.
      return resend ? result : endSkipped(tx, delivery, result);
    }
    const attempt = createAttempt(delivery, { entry, result, resend, fault });
    // The ID of the scripted fault is stored with the effect of the fault.
    if (fault) tx.withCause(fault.cause, () => tx.put(attempts, attempt));
    else tx.put(attempts, attempt);
    return recordOutcome(tx, { entry, delivery, attempt, settings, notifier });
  }

  function endSkipped(tx: Transaction, delivery: Delivery, outcome: SkippedOutcome): string {
    const now = clock.now();
    const skippedDelivery = { ...delivery, outcome, next_attempt_at: null, keep_until: getRetentionEnd("other", now) };
    tx.put(deliveries, skippedDelivery);
    const disabled = outcome === "skipped_disabled";
    notifier?.emit({ delivery: skippedDelivery, attempt: undefined, disabled, at: now });
    return outcome;
  }

  return { deliver: createHandler(false), resend: createHandler(true) };
}

/** Returns the number of the next scheduled attempt. `delivery` is the row before the attempt. */
const getScheduledNumber = ({ failures }: Delivery, resend: boolean): number | null => (resend ? null : failures + 1);

function createAttempt(
  delivery: Delivery,
  { entry, result, resend, fault }: EndedRun & { readonly result: AttemptResult },
): DeliveryAttempt {
  const { url, at, wallAt, movedBy, durationMs, postResult } = result;
  return {
    delivery_id: delivery.id,
    number: delivery.attempts + 1,
    resend,
    scheduled_number: getScheduledNumber(delivery, resend),
    planned_at: entry.due,
    at,
    wall_at: wallAt,
    cause: entry.cause,
    moved_by: movedBy ?? null,
    fault: fault ? toAttemptFault(fault) : resend ? null : delivery.postponement,
    url,
    status: "status" in postResult ? postResult.status : null,
    error: "error" in postResult ? postResult.error : null,
    duration_ms: durationMs,
    response_body: "status" in postResult ? postResult.body.toString("utf8") : null,
    ...("location" in postResult && { location: postResult.location }),
  };
}

/** A resend belongs to the trace of its own cause. */
function readTraceContext(view: View, entry: ScheduledEntry, event: WebhookEvent, scheduledNumber: number | null) {
  const cause = scheduledNumber === null ? entry.cause : event.cause;
  const trace = getEventTrace(event, view.get(causes, cause));
  return { trace, span: deriveSpanId(trace, toAttemptSpanName(Number(entry.ref), scheduledNumber, entry.cause)) };
}

type SkippedOutcome = Extract<DeliveryOutcome, `skipped_${string}`>;

/** Removes an entry whose delivery or schedule entry was removed during the attempt. */
function removeEntry(tx: Transaction, entry: ScheduledEntry): string {
  const queuedEntry = tx.get(schedule, entry.id);
  if (queuedEntry?.due === entry.due) dequeue(tx, entry);
  return "gone";
}

interface EndedRun {
  readonly entry: ScheduledEntry;
  readonly result: AttemptResult | SkippedOutcome;
  readonly resend: boolean;
  readonly fault?: AppliedFault | undefined;
}

/**
 * An unreachable receiver gets at most six concurrent attempts (DECISIONS.md, C18). A disabled or deleted webhook has
 * no limit, because it sends nothing.
 */
function readCapacity(view: View, key: string): number {
  const webhook = view.get(webhookRows, parseId(key));
  return webhook?.status === "ACTIVE"
    ? Math.max(1, failuresUntilDisabled - webhook.failure_count)
    : Number.POSITIVE_INFINITY;
}

const parseId = (key: string): number => Number(key.slice(key.indexOf(":") + 1));

/** The overtaking attempt arrives first in every clock mode. */
const reorderDelayMs = 1_000;

/** Postpones an attempt without counting it. Returns the outcome as one word. */
function postponeAttempt(
  tx: Transaction,
  entry: ScheduledEntry,
  { byMs, isAfterNext }: AttemptPostponement,
  fault: AppliedFault,
  now: number,
): string {
  const queuedEntry = tx.get(schedule, entry.id);
  const delivery = tx.get(deliveries, Number(entry.ref));
  if (queuedEntry?.due !== entry.due || !delivery) return "gone";
  const nextEntry = isAfterNext ? findNextOfKey(tx, entry, now + byMs) : undefined;
  const due = nextEntry ? nextEntry.due + reorderDelayMs : now + byMs;
  enqueue(tx, { ...entry, due });
  const postponement = toAttemptFault(fault);
  tx.withCause(fault.cause, () => tx.put(deliveries, { ...delivery, next_attempt_at: due, postponement }));
  return "postponed";
}

function findNextOfKey(tx: Transaction, entry: ScheduledEntry, latestDue: number) {
  const entries = tx.list(schedule, { by: "due", from: entry.due, to: latestDue });
  return entries.find(
    ({ id, due, concurrency_key }) =>
      concurrency_key === entry.concurrency_key && (due > entry.due || (due === entry.due && id > entry.id)),
  );
}
