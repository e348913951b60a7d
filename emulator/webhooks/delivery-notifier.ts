import type { AttemptResult } from "./attempt.ts";
import type { Delivery } from "./deliveries.ts";

/** A new outcome of a delivery: an attempt was made or skipped. */
export interface DeliveryUpdate {
  readonly delivery: Delivery;
  readonly attempt: AttemptResult | undefined;
  /** Whether the webhook is disabled after it. The scheduled attempt is then skipped. */
  readonly disabled: boolean;
  /** Virtual milliseconds. */
  readonly at: number;
}

/**
 * Publishes outcomes of deliveries after they are stored. If storing fails, the attempt is repeated and published
 * again.
 */
export class DeliveryNotifier {
  readonly #watchers = new Set<(told: DeliveryUpdate) => void>();

  notify(told: DeliveryUpdate): void {
    for (const each of this.#watchers) each(told);
  }

  /** Calls the listener for each new outcome. The listener must be quick. Returns a function that removes it. */
  watch(each: (told: DeliveryUpdate) => void): () => void {
    this.#watchers.add(each);
    return () => this.#watchers.delete(each);
  }
}
