import { hasSucceeded } from "../../src/api/webhook-health/attempts.ts";
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
import type { Transaction } from "../store/port.ts";
import { maxRetentionMs } from "../store/rows.ts";
import { type Delivery, type DeliveryAttempt, type DeliveryOutcome, deliveries, toAttemptName } from "./deliveries.ts";
import { type Webhook, type WebhookStatus, webhookRows } from "./webhooks.ts";

interface EndedAttempt {
  readonly entry: ScheduledEntry;
  /** The row before the attempt. */
  readonly delivery: Delivery;
  readonly attempt: DeliveryAttempt;
  readonly settings: Pick<EmulatorSettings, "retrySchedule" | "workerTick">;
  readonly notifier: DeliveryNotifier | undefined;
}

/** Stores the outcome of an attempt. Returns the delivery's outcome after the attempt. */
export function recordOutcome(tx: Transaction, endedAttempt: EndedAttempt): string {
  const { entry, delivery, attempt, notifier } = endedAttempt;
  const { at, resend } = attempt;
  const isSuccess = hasSucceeded(attempt);
  // The webhook can have been deleted during the attempt.
  const webhook = tx.get(webhookRows, delivery.webhook_id);
  const disabled = webhook !== undefined && countAttempt(tx, webhook, attempt) !== "ACTIVE";

  // After a successful resend, and for a resend itself, a failure changes only the retention of the delivery.
  const isEnded = resend || delivery.outcome === "delivered";
  const change = isSuccess
    ? createSuccessChange(at)
    : isEnded
      ? extendRetention(delivery, at)
      : createFailureChange(tx, endedAttempt);
  const updatedDelivery: Delivery = {
    ...delivery,
    ...change,
    attempts: attempt.number,
    // A resend leaves the planned attempt as it is, with its postponement.
    postponement: resend && !isSuccess ? delivery.postponement : null,
  };
  tx.put(deliveries, updatedDelivery);
  notifier?.emit({ delivery: updatedDelivery, attempt, disabled, at });

  if (!resend && updatedDelivery.next_attempt_at !== null)
    enqueue(tx, { ...entry, due: updatedDelivery.next_attempt_at });
  else dequeue(tx, entry);
  if (resend && isSuccess) endSchedule(tx, delivery);
  return updatedDelivery.outcome;
}

/** Counts the failures over all deliveries of the webhook (DECISIONS.md, C18). Returns the new status. */
function countAttempt(tx: Transaction, webhook: Webhook, attempt: DeliveryAttempt): WebhookStatus {
  const failure_count = hasSucceeded(attempt) ? 0 : webhook.failure_count + 1;
  if (failure_count === webhook.failure_count) return webhook.status;
  const countedWebhook = { ...webhook, failure_count };
  if (webhook.status !== "ACTIVE" || failure_count < failuresUntilDisabled) {
    tx.put(webhookRows, countedWebhook);
    return webhook.status;
  }
  const disabled = { at: attempt.at, by: toAttemptName(attempt.delivery_id, attempt.number) };
  tx.put(webhookRows, { ...countedWebhook, status: "DISABLED_BY_ERROR", disabled });
  return "DISABLED_BY_ERROR";
}

type DeliveryChange = Partial<Pick<Delivery, "outcome" | "failures" | "next_attempt_at" | "keep_until">>;

function createSuccessChange(at: number): DeliveryChange {
  return { outcome: "delivered", next_attempt_at: null, keep_until: getRetentionEnd("delivered", at) };
}

const extendRetention = ({ outcome, keep_until }: Delivery, at: number): DeliveryChange =>
  keep_until === null ? {} : { keep_until: getRetentionEnd(outcome, at) };

function createFailureChange(tx: Transaction, { delivery, attempt: { at }, settings }: EndedAttempt): DeliveryChange {
  const failures = delivery.failures + 1;
  const retrySchedule = getRetrySchedule(tx.get(workspaces, delivery.workspace_id), settings);
  const nextAttemptAt = computeNextAttempt(retrySchedule, failures, at, settings.workerTick);
  if (nextAttemptAt !== undefined) return { outcome: "retrying", failures, next_attempt_at: nextAttemptAt };
  return { outcome: "failed", failures, next_attempt_at: null, keep_until: getRetentionEnd("other", at) };
}

/** Cancels the remaining scheduled attempts of a delivery, because a resend succeeded. */
export function endSchedule(tx: Transaction, { id, entry_id }: Delivery): void {
  const queuedEntry = tx.get(schedule, entry_id);
  if (queuedEntry?.kind === "deliver" && queuedEntry.ref === String(id)) dequeue(tx, queuedEntry);
}

/** A new outcome of a delivery after an attempt was made or skipped. */
export interface DeliveryUpdate {
  readonly delivery: Delivery;
  /** Undefined if the attempt was skipped. */
  readonly attempt: DeliveryAttempt | undefined;
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
export const getRetentionEnd = (outcome: DeliveryOutcome | "other", at: number): number =>
  at + (outcome === "delivered" ? deliveredRetentionMs : maxRetentionMs);
