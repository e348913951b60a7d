import { skippedOutcomes } from "../../src/api/delivery-outcomes.ts";
import type { Clock } from "../../src/base/clock.ts";
import { isOneOf } from "../../src/base/object.ts";
import { streamItems } from "../http/event-stream.ts";
import type { Store, View } from "../store/port.ts";
import { attempts, type Delivery, type DeliveryAttempt, deliveries } from "../webhooks/deliveries.ts";
import { getRetentionEnd } from "../webhooks/record.ts";

/** An event of a delivery: an attempt, or its end without an attempt. */
export interface DeliveryEvent {
  readonly delivery: Delivery;
  readonly attempt: DeliveryAttempt | undefined;
  /** Virtual milliseconds. */
  readonly at: number;
}

const pageSize = 100;

/**
 * Yields every further attempt and skip in order, until the signal is aborted. No event is missed after this promise
 * resolves, even if the first event is read later.
 */
export async function streamDeliveryEvents(
  store: Store,
  clock: Clock,
  signal: AbortSignal,
): Promise<AsyncGenerator<DeliveryEvent>> {
  const reader = await store.read((view) => DeliveryEventReader.startFrom(view, clock.now()));
  const look = () => store.read((view) => reader.readSince(view, clock.now()));
  return streamItems(signal, (ring) => store.watch([deliveries], ring), look);
}

/** Finds new attempts and skips. Attempts are append-only. A skip is found by its retention time. */
class DeliveryEventReader {
  #newest: DeliveryAttempt | undefined;
  #lastReadMs: number;
  #skipped = new Set<number>();

  private constructor(newest: DeliveryAttempt | undefined, now: number) {
    this.#newest = newest;
    this.#lastReadMs = now;
  }

  static async startFrom(view: View, now: number): Promise<DeliveryEventReader> {
    const [newest] = await view.list(attempts, { reverse: true, limit: 1 });
    const reader = new DeliveryEventReader(newest, now);
    await reader.#findNewSkips(view, now);
    return reader;
  }

  async readSince(view: View, now: number): Promise<readonly DeliveryEvent[]> {
    const events: DeliveryEvent[] = [];
    for (const attempt of await this.#findNewAttempts(view)) {
      const delivery = await view.get(deliveries, attempt.delivery_id);
      if (delivery) events.push({ delivery, attempt, at: attempt.at });
    }
    for (const delivery of await this.#findNewSkips(view, now)) events.push({ delivery, attempt: undefined, at: now });
    return events;
  }

  async #findNewSkips(view: View, now: number): Promise<readonly Delivery[]> {
    const from = getRetentionEnd("other", Math.min(now, this.#lastReadMs));
    const ended = await view.list(deliveries, { by: "keep_until", from });
    const skipped = ended.filter(({ outcome }) => isOneOf(skippedOutcomes, outcome));
    const known = this.#skipped;
    this.#lastReadMs = now;
    this.#skipped = new Set(skipped.map(({ id }) => id));
    return skipped.filter(({ id }) => !known.has(id));
  }

  async #findNewAttempts(view: View): Promise<readonly DeliveryAttempt[]> {
    const found: DeliveryAttempt[] = [];
    const known = this.#newest;
    for (let offset = 0; ; offset += pageSize) {
      const page = await view.list(attempts, { reverse: true, offset, limit: pageSize });
      // The newest known attempt may have been dropped since the last read. Earlier attempts are not new either.
      const end = page.findIndex((row) => known !== undefined && !isNews(row, known));
      found.push(...(end < 0 ? page : page.slice(0, end)));
      if (end >= 0 || page.length < pageSize) break;
    }
    this.#newest = found[0] ?? known;
    return found.reverse();
  }
}

const isNews = (row: DeliveryAttempt, known: DeliveryAttempt): boolean =>
  row.at >= known.at && (row.delivery_id !== known.delivery_id || row.number !== known.number);
