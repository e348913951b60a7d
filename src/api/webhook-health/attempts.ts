import { lookupTable } from "../../base/object.ts";
import type { listDeliveries } from "../emulator/deliveries.ts";
import type { ResultOf } from "../operation.ts";

export type Delivery = ResultOf<typeof listDeliveries>["items"][number];
export type Attempt = Delivery["attempts"][number];

/** Only 2xx is a success (DECISIONS.md, C18). */
export const hasSucceeded = ({ status }: { readonly status: number | null }): boolean =>
  status !== null && status >= 200 && status < 300;

/** Scheduled attempts, without the requested resends. */
export const filterScheduled = <One extends { readonly resend: boolean }>(attempts: readonly One[]): readonly One[] =>
  attempts.filter(({ resend }) => !resend);

/** `attempt 3 of 7`. The last failure ends a delivery, unless its webhook was disabled before (DECISIONS.md, C19). */
export const formatAttemptNumber = (number: number, { max_attempts: max }: Pick<Delivery, "max_attempts">): string =>
  `attempt ${number} of ${max}`;

type NumberedAttempt = Pick<Attempt, "number" | "resend">;
type AttemptList<One> = Pick<Delivery, "max_attempts"> & { readonly attempts: readonly One[] };

/** `attempt 3 of 7`, or `resend 1` for a requested attempt. They are counted separately. */
export function formatAttemptLabel(attempt: NumberedAttempt, delivery: AttemptList<NumberedAttempt>): string {
  const place = delivery.attempts.filter(
    ({ resend, number }) => resend === attempt.resend && number <= attempt.number,
  ).length;
  return attempt.resend ? `resend ${place}` : formatAttemptNumber(place, delivery);
}

/** The scripted fault that caused an attempt to fail: the receiver got an altered request, or none. */
export const getCausingFault = ({ fault }: Pick<Attempt, "fault">): string | undefined =>
  fault !== null && fault.effect in blamedEffects ? fault.effect : undefined;

/** Effects that can make an attempt fail, without those that only delay it. */
const blamedEffects = lookupTable({
  drop: "prevented the request",
  tamper: "changed the body after signing",
  wrong_key: "signed it with another key",
  duplicate: "sent it twice",
});

/** Result of an attempt, in a sentence. */
export function describeAttemptOutcome(attempt: Pick<Attempt, "status" | "error" | "fault">): string {
  const { status, error } = attempt;
  const effect = getCausingFault(attempt);
  if (effect === "drop") return `A scripted fault ${blamedEffects.drop} (drop).`;
  const brought = status !== null ? `The receiver responded ${status}` : trimPeriod(error?.message ?? "No response");
  return effect === undefined ? `${brought}.` : `${brought}; a scripted fault ${blamedEffects[effect]} (${effect}).`;
}

/** The same in a few words: `answered 401 (fault: tamper)`, `connection refused`. */
export function summarizeAttemptOutcome(attempt: Pick<Attempt, "status" | "error" | "fault">): string {
  const { status, error } = attempt;
  const effect = getCausingFault(attempt);
  const brought = status === null ? (error?.code ?? "no response").replaceAll("_", " ") : `responded ${status}`;
  return effect === undefined ? brought : `${brought} (fault: ${effect})`;
}

/** How the attempts were altered, one sentence for each effect: `Attempt 1 of 7 was signed with another key`. */
export function describeAlteredAttempts(
  delivery: AttemptList<Pick<Attempt, "number" | "resend" | "fault">>,
  attempts = delivery.attempts,
): readonly string[] {
  return Object.entries(alterations).flatMap(([effect, what]) => {
    const hit = attempts
      .filter(({ fault }) => fault?.effect === effect)
      .map((one) => formatAttemptLabel(one, delivery));
    return hit.length === 0 ? [] : [`${capitalize(hit.join("; "))}: a scripted fault ${what}`];
  });
}

const alterations = lookupTable({
  drop: "prevented the request: the receiver got nothing.",
  tamper: "changed the body after signing: the receiver got other bytes, which do not match the signature.",
  wrong_key: "signed it with another key: the receiver got these bytes with a signature that does not match.",
  duplicate: "sent it twice.",
});

/** Whether its bytes and its signature are those that are shown. */
export const wasSentUnaltered = ({ fault }: Pick<Attempt, "fault">): boolean =>
  fault === null || !["drop", "tamper", "wrong_key"].includes(fault.effect);

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const trimPeriod = (text: string): string => text.replace(/\.$/, "");

/** Data that determine the outcome of a delivery. */
interface DeliveryOutcome {
  readonly outcome: string;
  /** Null: none is planned. */
  readonly next_attempt_at: string | number | null;
  readonly webhook_status: string;
  /** Of one that another program made: the service has nothing to send again. */
  readonly label?: string | undefined;
}

/** The same as stored, in virtual milliseconds. */
type ScheduledOutcome = Pick<DeliveryOutcome, "outcome"> & { readonly next_attempt_at: number | null };

/** The next attempt is skipped while the webhook is disabled or deleted (DECISIONS.md, C18). */
export const isToBeSkipped = ({ next_attempt_at: next, webhook_status: status }: DeliveryOutcome): boolean =>
  next !== null && status !== "ACTIVE";

/** Whether it did not arrive and will not be retried, so that it must be resent by hand. */
export const isUndelivered = (delivery: DeliveryOutcome): boolean =>
  delivery.label === undefined &&
  (delivery.outcome === "failed" || delivery.outcome.startsWith("skipped_") || isToBeSkipped(delivery));

/** Whether its last attempt failed and the next one is still pending, neither due nor running. */
export const isAwaitingRetry = ({ outcome, next_attempt_at: next }: ScheduledOutcome, now: number): boolean =>
  outcome === "retrying" && next !== null && next > now;

/**
 * Status of a delivery, in the words that all lists and views use. `attempts`: the number of attempts, resends
 * included.
 */
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
