import { skippedOutcomes } from "../../src/api/delivery-outcomes.ts";
import type { Clock } from "../../src/base/clock.ts";
import type { Store, View } from "../store/store.ts";
import { type Attempt, attempts, type Delivery, deliveries } from "../webhooks/deliveries.ts";

/** Something that became of a delivery: an attempt, or its end without one. */
export interface DeliveryEvent {
  readonly delivery: Delivery;
  readonly attempt: Attempt | undefined;
  /** Virtual milliseconds. */
  readonly at: number;
}

const pageSize = 100;

/** Every attempt and every skip from now on, in order, until the signal is aborted. */
export async function* deliveryEvents(store: Store, clock: Clock, signal: AbortSignal): AsyncGenerator<DeliveryEvent> {
  let changed = false;
  let wake = () => {};
  const ring = () => {
    changed = true;
    wake();
  };
  const unwatch = store.watch(deliveries, ring);
  signal.addEventListener("abort", ring);
  try {
    const news = await store.read((view) => News.from(view));
    while (!signal.aborted) {
      changed = false;
      yield* await store.read((view) => news.since(view, clock.now()));
      if (!changed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal.removeEventListener("abort", ring);
    unwatch();
  }
}

/** Attempts are only ever added; what was skipped is found by the numbers of those that are. */
class News {
  #newest: Attempt | undefined;
  #skipped: Set<number>;

  private constructor(newest: Attempt | undefined, skippedIds: Set<number>) {
    this.#newest = newest;
    this.#skipped = skippedIds;
  }

  static async from(view: View): Promise<News> {
    const [newest] = await view.list(attempts, { reverse: true, limit: 1 });
    return new News(newest, new Set((await skippedIn(view)).map(({ id }) => id)));
  }

  async since(view: View, now: number): Promise<readonly DeliveryEvent[]> {
    const events: DeliveryEvent[] = [];
    for (const attempt of await this.#newAttempts(view)) {
      const delivery = await view.get(deliveries, String(attempt.delivery_id));
      if (delivery) events.push({ delivery, attempt, at: attempt.at });
    }
    const skippedNow = await skippedIn(view);
    for (const delivery of skippedNow) {
      if (!this.#skipped.has(delivery.id)) events.push({ delivery, attempt: undefined, at: now });
    }
    this.#skipped = new Set(skippedNow.map(({ id }) => id));
    return events;
  }

  async #newAttempts(view: View): Promise<readonly Attempt[]> {
    const found: Attempt[] = [];
    const known = this.#newest;
    for (let offset = 0; ; offset += pageSize) {
      const page = await view.list(attempts, { reverse: true, offset, limit: pageSize });
      // The newest that is known may have been dropped meanwhile; what was attempted before it is not news either.
      const end = page.findIndex((row) => known !== undefined && !isNews(row, known));
      found.push(...(end < 0 ? page : page.slice(0, end)));
      if (end >= 0 || page.length < pageSize) break;
    }
    this.#newest = found[0] ?? known;
    return found.reverse();
  }
}

const isNews = (row: Attempt, known: Attempt): boolean =>
  row.at >= known.at && (row.delivery_id !== known.delivery_id || row.number !== known.number);

async function skippedIn(view: View): Promise<readonly Delivery[]> {
  const lists = await Promise.all(
    skippedOutcomes.map((outcome) => view.list(deliveries, { by: "outcome", equals: outcome })),
  );
  return lists.flat().sort((a, b) => a.id - b.id);
}
