import { lookupTable } from "../../base/object.ts";
import { capitalize } from "../../base/text.ts";
import type { listDeliveries } from "../emulator/deliveries.ts";
import type { listControlWebhooks } from "../emulator/webhooks.ts";
import type { ResultOf } from "../operation.ts";

export type Webhook = ResultOf<typeof listControlWebhooks>[number];
export type Delivery = ResultOf<typeof listDeliveries>["items"][number];
export type Attempt = Delivery["attempts"][number];

/** Reports whether an attempt succeeded. Only 2xx is a success (DECISIONS.md, C18). */
export const hasSucceeded = ({ status }: { readonly status: number | null }): boolean =>
  status !== null && status >= 200 && status < 300;

/** Returns the scheduled attempts, without the requested resends. */
export const filterScheduled = <One extends { readonly resend: boolean }>(attempts: readonly One[]): readonly One[] =>
  attempts.filter(({ resend }) => !resend);

/**
 * Formats an attempt as `attempt 3 of 7`. The last failure ends a delivery, unless its webhook was disabled before
 * (DECISIONS.md, C19).
 */
export const formatAttemptNumber = (number: number, { max_attempts: max }: Pick<Delivery, "max_attempts">): string =>
  `attempt ${number} of ${max}`;

type NumberedAttempt = Pick<Attempt, "number" | "resend">;
type AttemptList<One> = Pick<Delivery, "max_attempts"> & { readonly attempts: readonly One[] };

/** Formats an attempt as `attempt 3 of 7`, or a resend as `resend 1`. Resends are counted separately. */
export function formatAttemptLabel(attempt: NumberedAttempt, delivery: AttemptList<NumberedAttempt>): string {
  const position = delivery.attempts.filter(
    ({ resend, number }) => resend === attempt.resend && number <= attempt.number,
  ).length;
  return attempt.resend ? `resend ${position}` : formatAttemptNumber(position, delivery);
}

/** Returns the scripted fault that caused an attempt to fail. The receiver got an altered request or none. */
export const getCausingFault = ({ fault }: Pick<Attempt, "fault">): string | undefined =>
  fault !== null && fault.effect in blamedEffects ? fault.effect : undefined;

/** Effects that can cause a failed attempt. Effects that only delay an attempt are excluded. */
const blamedEffects = lookupTable({
  drop: "prevented the request",
  tamper: "changed the body after signing",
  wrong_key: "signed it with another key",
  duplicate: "sent it twice",
});

/** Describes the result of an attempt in a sentence. */
export function describeAttemptOutcome(attempt: Pick<Attempt, "status" | "error" | "fault">): string {
  const { status, error } = attempt;
  const effect = getCausingFault(attempt);
  if (effect === "drop") return `A scripted fault ${blamedEffects.drop} (drop).`;
  const outcome =
    status !== null ? `The receiver responded ${status}` : (error?.message ?? "No response").replace(/\.$/, "");
  return effect === undefined ? `${outcome}.` : `${outcome}; a scripted fault ${blamedEffects[effect]} (${effect}).`;
}

/** Formats the end of a line about an attempt: `, next 10:05:00`, or that the retry will be skipped and why. */
export const formatNextAttempt = (at: string, skipReason: string | undefined): string =>
  skipReason === undefined ? `, next ${at}` : `, retry at ${at} will be skipped: ${skipReason}`;

/** Summarizes the result of an attempt, such as `responded 401 (fault: tamper)` or `connection refused`. */
export function summarizeAttemptOutcome(attempt: Pick<Attempt, "status" | "error" | "fault">): string {
  const { status, error } = attempt;
  const effect = getCausingFault(attempt);
  const brought = status === null ? (error?.code ?? "no response").replaceAll("_", " ") : `responded ${status}`;
  return effect === undefined ? brought : `${brought} (fault: ${effect})`;
}

/**
 * Describes how faults altered the attempts, with one sentence per effect, such as `Attempt 1 of 7 was signed with
 * another key`.
 */
export function describeAlteredAttempts(
  delivery: AttemptList<Pick<Attempt, "number" | "resend" | "fault">>,
  attempts = delivery.attempts,
): readonly string[] {
  return Object.entries(alterations).flatMap(([effect, what]) => {
    const hit = attempts
      .filter(({ fault }) => fault?.effect === effect)
      .map((attempt) => formatAttemptLabel(attempt, delivery));
    return hit.length === 0 ? [] : [`${capitalize(hit.join("; "))}: a scripted fault ${what}`];
  });
}

const alterations = lookupTable({
  drop: "prevented the request: the receiver got nothing.",
  tamper: "changed the body after signing: the receiver got other bytes, which do not match the signature.",
  wrong_key: "signed it with another key: the receiver got these bytes with a signature that does not match.",
  duplicate: "sent it twice.",
});

/** Reports whether the sent bytes and signature are the shown ones. */
export const wasSentUnaltered = ({ fault }: Pick<Attempt, "fault">): boolean =>
  fault === null || !["drop", "tamper", "wrong_key"].includes(fault.effect);

/** Data that determine the outcome of a delivery. */
interface DeliveryOutcome {
  readonly outcome: string;
  /** Time of the next attempt, or null if none is planned. */
  readonly next_attempt_at: string | number | null;
  readonly webhook_status: string;
  /** Label of a delivery from another program, which the service cannot resend. */
  readonly label?: string | undefined;
}

/** Reports whether the next attempt will be skipped because the webhook is disabled or deleted (DECISIONS.md, C18). */
export const isToBeSkipped = ({ next_attempt_at: next, webhook_status: status }: DeliveryOutcome): boolean =>
  next !== null && status !== "ACTIVE";

/**
 * Reports whether a delivery failed and has no further retry, so that it must be resent manually. If the current
 * virtual time is given, due attempts are excluded, because they can be in progress when their webhook is disabled.
 */
export const isUndelivered = (delivery: DeliveryOutcome, now = Number.NEGATIVE_INFINITY): boolean =>
  delivery.label === undefined &&
  (delivery.outcome === "failed" ||
    delivery.outcome.startsWith("skipped_") ||
    (isToBeSkipped(delivery) && new Date(delivery.next_attempt_at!).getTime() > now));

/**
 * Reports whether the last attempt of a delivery failed and the next one is pending, neither due nor running. Times are
 * in virtual milliseconds.
 */
export const isAwaitingRetry = (
  { outcome, next_attempt_at: next }: { readonly outcome: string; readonly next_attempt_at: number | null },
  now: number,
): boolean => outcome === "retrying" && next !== null && next > now;

/** Formats the status of a delivery for lists and views. `attempts` is the number of attempts, including resends. */
export function formatDeliveryStatus(delivery: DeliveryOutcome, attempts: number): string {
  if (isToBeSkipped(delivery)) return "will be skipped";
  switch (delivery.outcome) {
    case "skipped_disabled":
      return "skipped: webhook disabled";
    case "skipped_deleted":
      return "skipped: webhook deleted";
    case "skipped_not_allowed":
      return attempts === 0 ? "not sent: address not allowed" : "skipped: address was not allowed";
    default:
      return delivery.outcome;
  }
}
