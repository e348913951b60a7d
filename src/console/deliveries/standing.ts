import { deliveryStanding } from "../../api/webhook-health/standing.ts";
import { type Tone, toneOf } from "../parts/names.ts";
import { type Delivery, isToBeSkipped, statusNow } from "../state/deliveries.ts";

/** How something stands, in a word that every view uses for it. */
export interface Standing {
  readonly tone: Tone;
  readonly words: string;
}

/** A delivery; one whose next attempt is passed over is on its way no more. */
export const standingOf = (delivery: Delivery): Standing => ({
  tone: isToBeSkipped(delivery) ? "bad" : toneOf(delivery.outcome),
  words: deliveryStanding({ ...delivery, webhook_status: statusNow(delivery) }, delivery.attempts.length),
});
