import { skippedOutcomes } from "../../src/api/delivery-outcomes.ts";
import type { Clock } from "../../src/base/clock.ts";
import { isOneOf } from "../../src/base/object.ts";
import { streamItems } from "../http/event-stream.ts";
import type { RowChange, Store, View } from "../store/port.ts";
import { attempts, type Delivery, type DeliveryAttempt, deliveries } from "../webhooks/deliveries.ts";

/** An event of a delivery: an attempt, or its end without an attempt. */
export interface DeliveryEvent {
  readonly delivery: Delivery;
  readonly attempt: DeliveryAttempt | undefined;
  /** Virtual milliseconds. */
  readonly at: number;
}

/** Contains keys instead of rows, because a slow client should not hold the rows in memory. */
interface EventKey {
  readonly delivery: number;
  readonly attempt: string | undefined;
  readonly at: number;
}

/**
 * Yields every further attempt and skip in order, until the signal is aborted. No event is missed after this function
 * returns, even if the first event is read later.
 */
export function streamDeliveryEvents(store: Store, clock: Clock, signal: AbortSignal): AsyncGenerator<DeliveryEvent> {
  let pending: EventKey[] = [];
  let notifyReader = () => {};
  const unwatch = store.watch([deliveries, attempts], (changes) => {
    if (typeof changes === "string") return;
    pending.push(...changes.flatMap((change) => toEventKey(change, clock.now()) ?? []));
    notifyReader();
  });
  signal.addEventListener("abort", unwatch, { once: true });
  const watch = (notify: () => void) => {
    notifyReader = notify;
    return unwatch;
  };
  return streamItems(signal, watch, () => {
    const keys = pending;
    pending = [];
    return store.read((view) => readEvents(view, keys));
  });
}

function toEventKey({ collection, before, after }: RowChange, now: number): EventKey | undefined {
  if (collection === attempts.name && before === undefined) {
    const attempt = after as DeliveryAttempt;
    return { delivery: attempt.delivery_id, attempt: attempts.key(attempt), at: attempt.at };
  }
  if (collection !== deliveries.name || after === undefined) return undefined;
  const { id, outcome } = after as Delivery;
  const isSkip = isOneOf(skippedOutcomes, outcome) && (before as Delivery | undefined)?.outcome !== outcome;
  return isSkip ? { delivery: id, attempt: undefined, at: now } : undefined;
}

/** Skips deliveries that the caller cannot see, and deliveries that were removed meanwhile. */
async function readEvents(view: View, keys: readonly EventKey[]): Promise<readonly DeliveryEvent[]> {
  const rows = await view.getAll(deliveries, keys, ({ delivery }) => delivery);
  const attemptRows = await view.getAll(attempts, keys, ({ attempt }) => attempt);
  return keys.flatMap(({ attempt: key, at }, i) => {
    const [delivery, attempt] = [rows[i], attemptRows[i]];
    return delivery && (key === undefined || attempt) ? [{ delivery, attempt, at }] : [];
  });
}
