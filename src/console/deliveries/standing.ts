import { wordsOf } from "../format.ts";
import { type Tone, toneOf } from "../parts/tone.ts";
import { type Delivery, isToBeSkipped, type Webhook } from "../state/deliveries.ts";

/** How something stands, in a word that every view uses for it. */
export interface Standing {
  readonly tone: Tone;
  readonly words: string;
}

/** A delivery; one whose next attempt is passed over is on its way no more. */
export const standingOf = (delivery: Delivery): Standing =>
  isToBeSkipped(delivery)
    ? { tone: "bad", words: "will be skipped" }
    : { tone: toneOf(delivery.outcome), words: outcomes.get(delivery.outcome) ?? wordsOf(delivery.outcome) };

const outcomes = new Map([
  ["skipped_disabled", "skipped: webhook disabled"],
  ["skipped_deleted", "skipped: webhook deleted"],
  ["skipped_not_allowed", "not sent: address not allowed"],
]);

/** A webhook, by its state and by what its last attempts brought. */
export function standingOfWebhook({ status, failure_count }: Webhook): Standing {
  if (status === "DISABLED_BY_USER") return { tone: "warn", words: "disabled by a person" };
  if (status !== "ACTIVE") return { tone: "bad", words: "disabled" };
  return failure_count > 0 ? { tone: "warn", words: "failing" } : { tone: "good", words: "active" };
}
