import {
  computeNextAttempt,
  deliveredRetentionMs,
  failuresUntilDisabled,
  type RetrySchedule,
} from "../../src/api/webhook-retries.ts";
import type { Emitter } from "../../src/base/concurrency.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule } from "../clock/schedule.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import { type Workspace, workspaces } from "../domain/workspaces.ts";
import type { AppliedFault } from "../faults/faults.ts";
import type { Transaction } from "../store/port.ts";
import { maxRetentionMs } from "../store/rows.ts";
import { type AttemptResult, isSuccessfulPost } from "./attempt.ts";
import { attempts, type Delivery, deliveries, toAttemptFault, toAttemptName } from "./deliveries.ts";
import { type Webhook, type WebhookStatus, webhookRows } from "./webhooks.ts";

interface AttemptRecord {
  readonly entry: ScheduledEntry;
  readonly delivery: Delivery;
  /** Undefined if the webhook was deleted during the attempt. */
  readonly webhook: Webhook | undefined;
  readonly result: AttemptResult;
  readonly resend: boolean;
  readonly fault: AppliedFault | undefined;
  readonly settings: Pick<EmulatorSettings, "retrySchedule" | "workerTick">;
  readonly notifier: DeliveryNotifier | undefined;
}

/** Stores the outcome of an attempt. Returns the delivery's outcome after the attempt. */
export function recordOutcome(tx: Transaction, attemptRecord: AttemptRecord): string {
  const { entry, delivery, webhook, result, resend, notifier } = attemptRecord;
  const isSuccess = isSuccessfulPost(result.postResult);
  const isDisabled = webhook !== undefined && countAttempt(tx, webhook, attemptRecord) !== "ACTIVE";

  // After a successful resend, and for a resend itself, only a success changes the delivery.
  const isEnded = resend || delivery.outcome === "delivered";
  const change = isSuccess ? createSuccessChange(result.at) : isEnded ? {} : createFailureChange(tx, attemptRecord);
  const updatedDelivery: Delivery = {
    ...delivery,
    ...change,
    attempts: delivery.attempts + 1,
    // A resend leaves the planned attempt as it is, with its postponement.
    postponement: resend && !isSuccess ? delivery.postponement : null,
  };
  tx.put(deliveries, updatedDelivery);
  notifier?.emit({
    delivery: updatedDelivery,
    attempt: result,
    resend,
    scheduledNumber: getScheduledNumber(delivery, resend),
    disabled: isDisabled,
    at: result.at,
  });

  if (!resend && updatedDelivery.next_attempt_at !== null)
    enqueue(tx, { ...entry, due: updatedDelivery.next_attempt_at });
  else dequeue(tx, entry);
  if (resend && isSuccess) endSchedule(tx, delivery);
  return updatedDelivery.outcome;
}

/** Counts the failures over all deliveries of the webhook (DECISIONS.md, C18). Returns the new status. */
function countAttempt(tx: Transaction, webhook: Webhook, { delivery, result }: AttemptRecord): WebhookStatus {
  const failure_count = isSuccessfulPost(result.postResult) ? 0 : webhook.failure_count + 1;
  if (failure_count === webhook.failure_count) return webhook.status;
  const countedWebhook = { ...webhook, failure_count };
  if (webhook.status !== "ACTIVE" || failure_count < failuresUntilDisabled) {
    tx.put(webhookRows, countedWebhook);
    return webhook.status;
  }
  const disabled = { at: result.at, by: toAttemptName(delivery.id, delivery.attempts + 1) };
  tx.put(webhookRows, { ...countedWebhook, status: "DISABLED_BY_ERROR", disabled });
  return "DISABLED_BY_ERROR";
}

type DeliveryChange = Partial<Pick<Delivery, "outcome" | "failures" | "next_attempt_at" | "keep_until">>;

function createSuccessChange(at: number): DeliveryChange {
  return { outcome: "delivered", next_attempt_at: null, keep_until: getRetentionEnd("delivered", at) };
}

function createFailureChange(tx: Transaction, { delivery, result: { at }, settings }: AttemptRecord): DeliveryChange {
  const failures = delivery.failures + 1;
  const retrySchedule = getRetrySchedule(tx.getSync(workspaces, delivery.workspace_id), settings);
  const nextAttemptAt = computeNextAttempt(retrySchedule, failures, at, settings.workerTick);
  if (nextAttemptAt !== undefined) return { outcome: "retrying", failures, next_attempt_at: nextAttemptAt };
  return { outcome: "failed", failures, next_attempt_at: null, keep_until: getRetentionEnd("other", at) };
}

/** Returns the number of the next scheduled attempt. `delivery` is the row before the attempt. */
export const getScheduledNumber = ({ failures }: Delivery, resend: boolean): number | null =>
  resend ? null : failures + 1;

export function putAttempt(tx: Transaction, { entry, delivery, result, resend, fault }: AttemptRecord): void {
  const { url, at, wallAt, movedBy, durationMs, postResult } = result;
  tx.put(attempts, {
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
  });
}

/** Cancels the remaining scheduled attempts of a delivery, because a resend succeeded. */
export function endSchedule(tx: Transaction, { id, entry_id }: Delivery): void {
  const queuedEntry = tx.getSync(schedule, entry_id);
  if (queuedEntry?.kind === "deliver" && queuedEntry.ref === String(id)) dequeue(tx, queuedEntry);
}

/** A new outcome of a delivery after an attempt was made or skipped. */
export interface DeliveryUpdate {
  readonly delivery: Delivery;
  readonly attempt: AttemptResult | undefined;
  readonly resend: boolean;
  /** Number among the scheduled attempts. Null for a resend, and without an attempt. */
  readonly scheduledNumber: number | null;
  /** True if the webhook is now disabled. The next scheduled attempt is then skipped. */
  readonly disabled: boolean;
  /** Virtual milliseconds. */
  readonly at: number;
}

/** Publishes outcomes after they are stored. If storing fails, the attempt is repeated and published again. */
export type DeliveryNotifier = Emitter<[update: DeliveryUpdate]>;

/** The schedule of a workspace replaces that of `--retry-schedule` as a whole (DECISIONS.md, C19). */
export const getRetrySchedule = (
  workspace: Pick<Workspace, "retry_schedule"> | undefined,
  { retrySchedule }: Pick<EmulatorSettings, "retrySchedule">,
): RetrySchedule => workspace?.retry_schedule ?? retrySchedule;

/** Returns the virtual milliseconds after which a final record can be deleted (DECISIONS.md, C21). */
export const getRetentionEnd = (outcome: "delivered" | "other", at: number): number =>
  at + (outcome === "delivered" ? deliveredRetentionMs : maxRetentionMs);
