import { failuresUntilDisabled, retryDelaysMs } from "../../api/webhook-retries.ts";
import { hostIn } from "../../base/host-name.ts";
import { counted, lengthOf, timeOf, wordsOf } from "../format.ts";
import type { Outcome } from "../state/act.ts";
import type { Attempt, Delivery, Webhook } from "../state/deliveries.ts";

/** What an attempt brought, in a few words: `503`, `nobody listens`, `no answer in time`. */
export const answerOf = ({ status, error }: Pick<Attempt, "status" | "error">): string =>
  answerWords(status, error?.code ?? null);

/** The same by the code of what kept it from being answered. */
export function answerWords(status: number | null, code: string | null): string {
  if (status !== null) return String(status);
  return code === null ? "no answer" : (troubles.get(code) ?? wordsOf(code));
}

const troubles = new Map([
  ["ECONNREFUSED", "nobody listens"],
  ["connection_refused", "nobody listens"],
  ["refused", "nobody listens"],
  ["timeout", "no answer in time"],
  ["dropped", "dropped by a fault"],
]);

export const succeeded = ({ status }: Pick<Attempt, "status">): boolean =>
  status !== null && status >= 200 && status < 300;

/** Of the schedule, without those that a person asked for. */
export const scheduled = ({ attempts }: Pick<Delivery, "attempts">): readonly Attempt[] =>
  attempts.filter(({ resend }) => !resend);

/** `attempt 3 of 6, at +15 min, 503`: the name of its mark. */
export function nameOf(attempt: Attempt, delivery: Delivery): string {
  const after = Date.parse(attempt.at) - Date.parse(delivery.created_at);
  const at = after < 1_000 ? "at once" : `at +${lengthOf(after)}`;
  if (attempt.resend) return `sent again by hand, ${at}, ${answerOf(attempt)}`;
  const number = scheduled(delivery).indexOf(attempt) + 1;
  return `${turnOf(number)}, ${at}, ${answerOf(attempt)}`;
}

/** `attempt 3 of 6`: six failures in a row disable a webhook, and only one enabled again has a seventh attempt. */
export const turnOf = (number: number): string =>
  number <= failuresUntilDisabled ? `attempt ${number} of ${failuresUntilDisabled}` : `attempt ${number}, the last`;

/** What came of sending it again, which may be that it failed again. */
export function resent({ attempts }: Pick<Delivery, "attempts">): Outcome {
  const last = attempts.at(-1)!;
  if (succeeded(last)) return `Sent again: ${answerOf(last)}`;
  return { tone: "bad", words: `Sent again, and failed: ${answerOf(last)}` };
}

/** Why a delivery is where it is, and what to do: sentences for somebody who has read nothing. */
export function explain(delivery: Delivery, webhook: Webhook | undefined): { why: string; todo?: string } {
  const { outcome, next_attempt_at: next } = delivery;
  const made = scheduled(delivery);
  const last = delivery.attempts.at(-1);
  const to = webhook ? webhook.url : "a webhook that was deleted";
  const failure = last && !succeeded(last) ? trouble(last, to) : "";
  switch (outcome) {
    case "delivered":
      return {
        why:
          delivery.attempts.length === 1
            ? `${to} took it at the first attempt.`
            : `${to} took it at attempt ${delivery.attempts.length}, ${lengthOf(sinceFirst(delivery))} after it happened.`,
      };
    case "waiting":
      return next === null
        ? { why: "It waits for its first attempt." }
        : webhook && webhook.status !== "ACTIVE"
          ? {
              why: `Its webhook is disabled: the attempt that is due at ${timeOf(next)} is skipped, unless it is enabled before.`,
              todo: "Enable the webhook first.",
            }
          : {
              why: `The first attempt is due at ${timeOf(next)}.`,
              todo: "Press Next in the clock bar to let it come.",
            };
    case "retrying":
      return webhook && webhook.status !== "ACTIVE"
        ? {
            why: `${failure} It failed ${times(made.length)}, and the webhook is disabled: the attempt that is due at ${timeOf(next ?? delivery.created_at)} is skipped, unless it is enabled before.`,
            todo: "Mend the receiver, enable the webhook, then send it again.",
          }
        : {
            why: `${failure} ${capital(turnOf(made.length))} failed; the next comes ${lengthOf(retryDelaysMs[made.length - 1] ?? 0)} later, at ${timeOf(next ?? delivery.created_at)}.`,
            todo: "Mend the receiver, then send it again; or press Next in the clock bar to see the next attempt.",
          };
    case "failed":
      return {
        why: `${failure} It failed ${times(made.length)} and is not tried again.`,
        todo: "Mend the receiver, then send it again.",
      };
    case "skipped_disabled":
      return {
        why: `${failure}${failure && " "}When the next attempt came due, the webhook was disabled${webhook?.status === "DISABLED_BY_ERROR" ? `: ${failuresUntilDisabled} attempts in a row had failed` : ""}.`,
        todo: "Mend the receiver, enable the webhook, then send it again.",
      };
    case "skipped_deleted":
      return { why: "The webhook was deleted before the attempt came due." };
    default:
      return {
        why: `${to} is no address that webhooks may go to.`,
        todo: `Start the emulator with its host allowed: svc emulator start --webhook-allow ${webhook ? hostIn(webhook.url) : "HOST"}`,
      };
  }
}

const sinceFirst = ({ attempts, created_at }: Delivery): number =>
  Date.parse(attempts.at(-1)!.at) - Date.parse(created_at);

function trouble({ status, error }: Attempt, to: string): string {
  if (status !== null) return `${to} answered ${status}, which is no success.`;
  if (error === null) return `${to} gave no answer.`;
  return `${to}: ${withoutPeriod(error.message)}.`;
}

const times = (count: number): string => (count === 1 ? "once" : counted(count, "time"));
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const withoutPeriod = (text: string): string => text.replace(/\.$/, "");
