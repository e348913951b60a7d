import type { AttemptResult } from "./attempt.ts";
import type { Delivery } from "./deliveries.ts";

/** What became of a delivery just now: an attempt that was made, or that it was skipped. */
export interface DeliveryUpdate {
  readonly delivery: Delivery;
  readonly attempt: AttemptResult | undefined;
  /** Whether its subscription is disabled after it: the attempt that is planned is skipped then. */
  readonly disabled: boolean;
  /** Virtual milliseconds. */
  readonly at: number;
}

/**
 * Hands on what becomes of deliveries, as it is written down. An attempt was made even where writing it down fails; it
 * is told again then, when it is made again.
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
