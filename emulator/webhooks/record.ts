import { computeNextAttempt } from "../../src/api/webhook-retries.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule } from "../clock/schedule.ts";
import type { AppliedFault } from "../faults/faults.ts";
import { purgeCauses } from "../store/causes.ts";
import type { Transaction } from "../store/port.ts";
import { purgeEmails } from "../world/emails.ts";
import type { Settings } from "../world/settings.ts";
import { workspaces } from "../world/workspaces.ts";
import { type AttemptResult, isSuccess } from "./attempt.ts";
import {
  attempts,
  type Delivery,
  deliveries,
  listAttemptKeys,
  toAttemptFault,
  toAttemptName,
  webhookEvents,
} from "./deliveries.ts";
import type { DeliveryNotifier } from "./delivery-notifier.ts";
import { failuresUntilDisabled, getRetentionEnd, retryScheduleOf } from "./retry-rule.ts";
import { type Subscription, type SubscriptionStatus, subscriptions } from "./subscriptions.ts";

interface AttemptRecord {
  readonly entry: ScheduledEntry;
  readonly delivery: Delivery;
  /** Undefined if it was deleted meanwhile. */
  readonly subscription: Subscription | undefined;
  readonly attempted: AttemptResult;
  readonly resend: boolean;
  readonly interference: AppliedFault | undefined;
  readonly settings: Pick<Settings, "retrySchedule" | "workerTick">;
  readonly news: DeliveryNotifier | undefined;
}

/**
 * Records the effects of an attempt: the webhook's counter, the delivery's outcome, and the next time or the end of the
 * entry. Returns the delivery's outcome.
 */
export function recordOutcome(tx: Transaction, made: AttemptRecord): string {
  const { entry, delivery, subscription, attempted, resend, news } = made;
  const ok = isSuccess(attempted.posted);
  const disabled = subscription !== undefined && count(tx, subscription, made) !== "ACTIVE";

  // If a resend has already ended the delivery, or if this is a resend, only a success changes it.
  const ended = resend || delivery.outcome === "delivered";
  const whole = applyAttempt(
    delivery,
    ok ? createSuccessChange(attempted.at) : ended ? {} : createFailureChange(tx, made),
  );
  tx.put(deliveries, whole);
  news?.notify({ delivery: whole, attempt: attempted, disabled, at: attempted.at });

  if (!resend && whole.next_attempt_at !== null) enqueue(tx, { ...entry, due: whole.next_attempt_at });
  else dequeue(tx, entry);
  if (resend && ok) endSchedule(tx, delivery);
  return whole.outcome;
}

/** Counts per webhook, over all its deliveries (DECISIONS.md, C18). Returns its status after that. */
function count(
  tx: Transaction,
  subscription: Subscription,
  { delivery, attempted }: AttemptRecord,
): SubscriptionStatus {
  const failure_count = isSuccess(attempted.posted) ? 0 : subscription.failure_count + 1;
  if (failure_count === subscription.failure_count) return subscription.status;
  const counted = { ...subscription, failure_count };
  if (subscription.status !== "ACTIVE" || failure_count < failuresUntilDisabled) {
    tx.put(subscriptions, counted);
    return subscription.status;
  }
  const disabled = { at: attempted.at, by: toAttemptName(delivery.id, delivery.attempts + 1) };
  tx.put(subscriptions, { ...counted, status: "DISABLED_BY_ERROR", disabled });
  return "DISABLED_BY_ERROR";
}

type Change = Partial<Pick<Delivery, "outcome" | "failures" | "next_attempt_at" | "keep_until">>;

/** Fields are listed one by one, because spreading a frozen row is much slower in Node 20. */
function applyAttempt(row: Delivery, change: Change): Delivery {
  return {
    id: row.id,
    event_id: row.event_id,
    webhook_id: row.webhook_id,
    workspace_id: row.workspace_id,
    activity: row.activity,
    contract_id: row.contract_id,
    ...(row.label !== undefined && { label: row.label }),
    entry_id: row.entry_id,
    outcome: change.outcome ?? row.outcome,
    attempts: row.attempts + 1,
    failures: change.failures ?? row.failures,
    next_attempt_at: change.next_attempt_at === undefined ? row.next_attempt_at : change.next_attempt_at,
    put_off: null,
    created_at: row.created_at,
    keep_until: change.keep_until === undefined ? row.keep_until : change.keep_until,
  };
}

function createSuccessChange(at: number): Change {
  return { outcome: "delivered", next_attempt_at: null, keep_until: getRetentionEnd("delivered", at) };
}

function createFailureChange(tx: Transaction, { delivery, attempted: { at }, settings }: AttemptRecord): Change {
  const failures = delivery.failures + 1;
  const schedule = retryScheduleOf(tx.getSync(workspaces, delivery.workspace_id), settings);
  const next = computeNextAttempt(schedule, failures, at, settings.workerTick);
  if (next !== undefined) return { outcome: "retrying", failures, next_attempt_at: next };
  return { outcome: "failed", failures, next_attempt_at: null, keep_until: getRetentionEnd("other", at) };
}

/** Records the attempt itself. */
export function putAttempt(tx: Transaction, { entry, delivery, attempted, resend, interference }: AttemptRecord): void {
  const { url, at, wallAt, movedBy, durationMs, posted } = attempted;
  tx.put(attempts, {
    delivery_id: delivery.id,
    number: delivery.attempts + 1,
    resend,
    planned_at: entry.due,
    at,
    wall_at: wallAt,
    cause: entry.cause,
    moved_by: movedBy ?? null,
    fault: interference ? toAttemptFault(interference) : delivery.put_off,
    url,
    status: "status" in posted ? posted.status : null,
    error: "error" in posted ? posted.error : null,
    duration_ms: durationMs,
    response_body: "status" in posted ? posted.body.toString("utf8") : null,
  });
}

/** The success of a resend ends the delivery: the remaining scheduled attempts are canceled. */
export function endSchedule(tx: Transaction, { id, entry_id }: Delivery): void {
  const waiting = tx.getSync(schedule, entry_id);
  if (waiting?.kind === "deliver" && waiting.ref === String(id)) dequeue(tx, waiting);
}

/**
 * Drops expired records (DECISIONS.md, C21), at most `limit` of each kind, in the caller's transaction. Expiry is not
 * in the queue, because mode auto would jump to it. Returns the number of dropped records.
 */
export async function purge(tx: Transaction, now: number, limit = 50): Promise<number> {
  const over = await tx.list(deliveries, { by: "keep_until", to: now, limit });
  for (const delivery of over) {
    const { id, event_id } = delivery;
    for (const key of listAttemptKeys(delivery)) tx.delete(attempts, key);
    tx.delete(deliveries, id);
    const others = await tx.count(deliveries, { by: "event", equals: event_id });
    if (others === 0) tx.delete(webhookEvents, event_id);
  }
  const unheard = await tx.list(webhookEvents, { by: "keep_until", to: now, limit });
  for (const { id } of unheard) tx.delete(webhookEvents, id);
  const emails = await purgeEmails(tx, now, limit);
  return over.length + unheard.length + emails + (await purgeCauses(tx, now, limit));
}
