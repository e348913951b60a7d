import type { Clock } from "../../src/base/clock.ts";

/** How the service was observed to send webhooks. */
export interface WebhookObserver {
  /** Whether no receiver is told of the activity. */
  isSilent(activity: string): boolean;
  webhookBody(activity: string, body: string): string;
  /** The headers of a delivery, without its signature. */
  webhookHeaders(activity: string, headers: Readonly<Record<string, string>>): Record<string, string>;
}

/** By the clock of an emulator, which everything that emits has at hand. */
const observers = new WeakMap<Clock, WebhookObserver>();

/** Lets webhooks of the emulator with this clock be as they were observed. */
export const observeWebhooks = (clock: Clock, observer: WebhookObserver): void => void observers.set(clock, observer);

export const webhookObserver = (clock: Clock): WebhookObserver | undefined => observers.get(clock);
