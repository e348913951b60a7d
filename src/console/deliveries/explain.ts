import {
  type Attempt,
  capital,
  type Delivery,
  scheduledOf,
  succeeded,
  troubleOf,
  turnName,
  turnOf,
} from "../../api/webhook-health/attempts.ts";
import { causeOf, type Step } from "../../api/webhook-health/causes.ts";
import type { Health, Webhook } from "../../api/webhook-health/health.ts";
import { retryDelaysMs } from "../../api/webhook-retries.ts";
import { counted, lengthOf, timeOf, wordsOf } from "../format.ts";
import type { Outcome } from "../state/act.ts";

/** What an attempt brought, in a few words: `503`, `nobody listens`, `no answer in time`. */
export const answerOf = ({ status, error }: Pick<Attempt, "status" | "error">): string =>
  answerWords(status, error?.code ?? null);

/** The same by the code of what kept it from being answered. */
export function answerWords(status: number | null, code: string | null): string {
  if (status !== null) return String(status);
  return code === null ? "no answer" : (troubles.get(code) ?? wordsOf(code));
}

const troubles = new Map([
  ["connection_refused", "nobody listens"],
  ["response_timeout", "no answer in time"],
  ["connect_timeout", "no connection in time"],
  ["dropped", "dropped by a fault"],
]);

/** `attempt 3 of 7, at +15 min, 503`: the name of its mark. */
export function nameOf(attempt: Attempt, delivery: Delivery): string {
  const after = Date.parse(attempt.at) - Date.parse(delivery.created_at);
  const at = after < 1_000 ? "at once" : `at +${lengthOf(after)}`;
  const by = attempt.fault === null ? "" : `, fault: ${wordsOf(attempt.fault.effect)}`;
  return `${turnName(attempt, delivery.attempts)}, ${at}, ${answerOf(attempt)}${by}`;
}

/** What came of sending it again, which may be that it failed again. */
export function resent({ attempts }: Pick<Delivery, "attempts">): Outcome {
  const last = attempts.at(-1);
  if (!last?.resend) return { tone: "bad", words: "Not sent: its address is not allowed" };
  if (succeeded(last)) return `Sent again: ${answerOf(last)}`;
  return { tone: "bad", words: `Sent again, and failed: ${answerOf(last)}` };
}

/** Why a delivery is where it is: sentences for somebody who has read nothing. */
export function explain(delivery: Delivery, webhook: Webhook | undefined): string {
  const { outcome, attempts, next_attempt_at: next } = delivery;
  const made = scheduledOf(attempts).length;
  const last = attempts.at(-1);
  const isDisabled = webhook !== undefined && webhook.status !== "ACTIVE";
  const skipped = webhook
    ? "is skipped, unless the webhook is enabled before"
    : "is skipped, for the webhook was deleted";
  switch (outcome) {
    case "delivered":
      return `It arrived at ${turnName(last!, attempts)}${made === 1 && attempts.length === 1 ? "" : `, ${lengthOf(sinceFirst(delivery))} after it happened`}.`;
    case "waiting":
      if (next === null) return "It waits for its first attempt.";
      if (isDisabled || !webhook) return `The attempt that is due at ${timeOf(next)} ${skipped}.`;
      return `The first attempt is due at ${timeOf(next)}${putOff(delivery)}.`;
    case "retrying":
      return [
        troubleIn(last),
        isDisabled || !webhook
          ? `It failed ${times(made)}; the attempt that is due at ${timeOf(next ?? delivery.created_at)} ${skipped}.`
          : `${capital(turnOf(made))} failed; the next comes ${lengthOf(retryDelaysMs[made - 1] ?? 0)} later, at ${timeOf(next ?? delivery.created_at)}${putOff(delivery)}.`,
      ]
        .join(" ")
        .trim();
    case "failed":
      return `${troubleIn(last)} It failed ${times(made)} and is not tried again.`;
    default:
      return [passedOver.get(outcome), afterwards(delivery)].filter((one) => one !== "").join(" ");
  }
}

const passedOver = new Map([
  ["skipped_disabled", "When it came due, the webhook was disabled, and it was skipped."],
  ["skipped_deleted", "The webhook was deleted before it came due."],
  ["skipped_not_allowed", "When it came due, the address of the webhook was not allowed, and it was skipped."],
]);

/** What was tried nevertheless: before it was skipped, or by hand since. */
function afterwards({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (!last) return "";
  return `${last.resend ? "It was sent again by hand since" : "It had been tried before"}: ${troubleOf(last)}`;
}

const putOff = ({ put_off: by }: Delivery): string =>
  by === null ? "" : `, for a scripted fault put it off (${by.effect})`;

/** What to do about a delivery that has not arrived: what acts on its webhook, then what its own last attempt says. */
export function stepsFor({ outcome, attempts }: Delivery, health: Health | undefined): readonly Step[] {
  const steps = health?.steps.filter(({ kind }) => kind === "fault" || kind === "allow") ?? [];
  const last = attempts.at(-1);
  const isOver = outcome === "delivered" || steps.some(({ kind }) => kind === "allow");
  return isOver || !last || succeeded(last) ? steps : [...steps, ...causeOf(last).steps];
}

export const stepsWithoutButtons = (steps: readonly Step[]): readonly Step[] =>
  steps.filter(({ kind }) => kind !== "enable" && kind !== "resend");

const sinceFirst = ({ attempts, created_at }: Delivery): number =>
  Date.parse(attempts.at(-1)!.at) - Date.parse(created_at);

const troubleIn = (last: Attempt | undefined): string => (last && !succeeded(last) ? troubleOf(last) : "");

const times = (count: number): string => (count === 1 ? "once" : counted(count, "time"));
