import type { AttemptResult } from "./attempt.ts";
import type { Delivery } from "./deliveries.ts";

/** A new outcome of a delivery: an attempt that was made, or that it was skipped. */
export interface DeliveryUpdate {
  readonly delivery: Delivery;
  readonly attempt: AttemptResult | undefined;
  /** Whether its subscription is disabled after it: the attempt that is planned is skipped then. */
  readonly disabled: boolean;
  /** Virtual milliseconds. */
  readonly at: number;
}

/**
 * Publishes outcomes of deliveries when they are stored. An attempt was made even if storing it fails; it is published
 * again when it is made again.
 */
export class DeliveryNotifier {
  readonly #watchers = new Set<(told: DeliveryUpdate) => void>();

  notify(told: DeliveryUpdate): void {
    for (const each of this.#watchers) each(told);
  }

  /** Calls for each from now on, and must be quick. Returns the function that ends it. */
  watch(each: (told: DeliveryUpdate) => void): () => void {
    this.#watchers.add(each);
    return () => this.#watchers.delete(each);
  }
}
