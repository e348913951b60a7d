import { formatDeliveryStatus } from "../../api/webhook-health/delivery-status.ts";
import { type Tone, toneOf } from "../parts/names.ts";
import { currentWebhookStatus, type Delivery, isToBeSkipped } from "../state/deliveries.ts";

/** How something stands, in a word that every view uses for it. */
export interface StatusLabel {
  readonly tone: Tone;
  readonly words: string;
}

/** A delivery; one whose next attempt is passed over is on its way no more. */
export const toStatusLabel = (delivery: Delivery): StatusLabel => ({
  tone: isToBeSkipped(delivery) ? "bad" : toneOf(delivery.outcome),
  words: formatDeliveryStatus(
    { ...delivery, webhook_status: currentWebhookStatus(delivery) },
    delivery.attempts.length,
  ),
});
