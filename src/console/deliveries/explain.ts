import {
  type Attempt,
  type Delivery,
  describeAttemptOutcome,
  filterScheduled,
  formatAttemptLabel,
  formatAttemptNumber,
  formatDeliveryStatus,
  hasSucceeded,
  type Webhook,
} from "../../api/webhook-health/attempts.ts";
import { diagnoseFailedAttempt, type RemedyStep } from "../../api/webhook-health/causes.ts";
import type { WebhookHealth } from "../../api/webhook-health/health.ts";
import { getRetryDelayMs } from "../../api/webhook-retries.ts";
import { capitalize, lowercaseFirst } from "../../base/text.ts";
import { formatElapsed, getTone, pluralize, toWords } from "../format.ts";
import type { ActionOutcome } from "../state/act.ts";
import { formatMoment } from "../state/clock.ts";
import { isToBeSkipped, withCurrentStatus } from "../state/deliveries.ts";

/**
 * Returns the status of a delivery in one word, which all views use. If its next attempt will be skipped, it does not
 * count as waiting.
 */
export const toStatusLabel = (delivery: Delivery) => ({
  tone: isToBeSkipped(delivery) ? "bad" : getTone(delivery.outcome),
  words: formatDeliveryStatus(withCurrentStatus(delivery), delivery.attempts.length),
});

/** Describes the result of an attempt in a few words: `503`, `connection refused`, `no response in time`. */
export const describeResponse = ({ status, error }: Pick<Attempt, "status" | "error">): string =>
  describeResponseCode(status, error?.code ?? null);

export function describeResponseCode(status: number | null, code: string | null): string {
  if (status !== null) return String(status);
  return code === null ? "no response" : (errorLabels.get(code) ?? toWords(code));
}

const errorLabels = new Map([
  ["connect_timeout", "connection timeout"],
  ["dropped", "dropped by a fault"],
]);

/** Formats the label of an attempt's mark: `attempt 3 of 7, at +15 min, 503`. */
export function formatAttemptName(attempt: Attempt, delivery: Delivery): string {
  const after = Date.parse(attempt.at) - Date.parse(delivery.created_at);
  const at = after < 1_000 ? "immediately" : `at +${formatElapsed(after)}`;
  const by = attempt.fault === null ? "" : `, fault: ${toWords(attempt.fault.effect)}`;
  return `${formatAttemptLabel(attempt, delivery)}, ${at}, ${describeResponse(attempt)}${by}`;
}

export function toResendOutcome({ attempts }: Pick<Delivery, "attempts">): ActionOutcome {
  const last = attempts.at(-1);
  if (!last?.resend) return { tone: "bad", words: "Not sent: its address is not allowed" };
  if (hasSucceeded(last)) return `Resent: ${describeResponse(last)}`;
  return { tone: "bad", words: `Resent and failed: ${describeResponse(last)}` };
}

/** Explains the status of a delivery in sentences for newcomers. */
export function explainDelivery(delivery: Delivery, webhook: Webhook | undefined): string {
  const { outcome, attempts, next_attempt_at: next } = delivery;
  const scheduledCount = filterScheduled(attempts).length;
  const last = attempts.at(-1);
  const isDisabled = webhook !== undefined && webhook.status !== "ACTIVE";
  const skipReason = webhook
    ? "is skipped unless the webhook is enabled before"
    : "is skipped, because the webhook was deleted";
  switch (outcome) {
    case "delivered":
      return `Delivered at ${formatAttemptLabel(last!, delivery)}${scheduledCount === 1 && attempts.length === 1 ? "" : `, ${formatElapsed(measureSinceFirst(delivery))} after the activity`}.`;
    case "waiting":
      if (next === null) return "Waiting for the first attempt.";
      if (isDisabled || !webhook) return `The attempt at ${formatMoment(next)} ${skipReason}.`;
      return `The first attempt is due at ${formatMoment(next)}${describePostponement(delivery)}.`;
    case "retrying":
      return [
        describeFailure(last),
        isDisabled || !webhook
          ? `Failed ${formatTimes(scheduledCount)}. The attempt at ${formatMoment(next ?? delivery.created_at)} ${skipReason}.`
          : `${capitalize(formatAttemptNumber(scheduledCount, delivery))} failed. The next attempt is ${formatElapsed(getRetryDelayMs(webhook.retry_schedule, scheduledCount) ?? 0)} later, at ${formatMoment(next ?? delivery.created_at)}${describePostponement(delivery)}.`,
      ]
        .join(" ")
        .trim();
    case "failed":
      return `${describeFailure(last)} Failed ${formatTimes(scheduledCount)}, with no more retries.`;
    default:
      return [`${capitalize(endReasons.get(outcome)!)}.`, describeLastAttempt(delivery)].join(" ").trim();
  }
}

/** Why a delivery finally did not arrive, by its outcome. */
export const endReasons = new Map<string | null, string>([
  ["failed", "the last attempt failed, with no more retries"],
  ["skipped_disabled", "skipped, because the webhook was disabled when the attempt was due"],
  ["skipped_deleted", "skipped, because the webhook was deleted before the attempt was due"],
  ["skipped_not_allowed", "skipped, because the address of the webhook was not allowed when the attempt was due"],
]);

/** Describes the attempts before the skip, and later resends. */
function describeLastAttempt({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (!last) return "";
  return `${last.resend ? "Resent since" : "Earlier attempt"}: ${lowercaseFirst(describeAttemptOutcome(last))}`;
}

const describePostponement = ({ postponement: by }: Delivery): string =>
  by === null ? "" : `, postponed by a scripted fault (${by.effect})`;

/**
 * Lists what to do about a delivery that has not arrived: first about its webhook, then about its last attempt.
 * Scripted faults are listed only if one affected this delivery.
 */
export function findDeliverySteps(
  { outcome, attempts }: Delivery,
  health: WebhookHealth | undefined,
): readonly RemedyStep[] {
  const isAffected = attempts.some(({ fault }) => fault !== null);
  const steps = health?.steps.filter(({ kind }) => kind === "allow" || (kind === "fault" && isAffected)) ?? [];
  const last = attempts.at(-1);
  const isOver = outcome === "delivered" || steps.some(({ kind }) => kind === "allow");
  return isOver || !last || hasSucceeded(last) ? steps : [...steps, ...diagnoseFailedAttempt(last).steps];
}

export const filterStepsWithoutButtons = (steps: readonly RemedyStep[]): readonly RemedyStep[] =>
  steps.filter(({ kind }) => kind !== "enable" && kind !== "resend");

const measureSinceFirst = ({ attempts, created_at }: Delivery): number =>
  Date.parse(attempts.at(-1)!.at) - Date.parse(created_at);

const describeFailure = (last: Attempt | undefined): string =>
  last && !hasSucceeded(last) ? describeAttemptOutcome(last) : "";

const formatTimes = (count: number): string => (count === 1 ? "once" : pluralize(count, "time"));
