import type { WallClock } from "../../src/base/clock.ts";
import { timedOut, withTimeout } from "../../src/base/timing.ts";
import { ByteBoundedLog } from "./byte-bounded-log.ts";
import { EventFrames } from "./reply.ts";

/** Number of events that a slow client missed. It must read the state again. */
export class DroppedEventsNotice {
  readonly missed: number;

  constructor(missed: number) {
    this.missed = missed;
  }
}

/** Formats server-sent events (WHATWG HTML, 9.2), each after the client has read the previous frames. */
export async function* createEventStream(items: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const item of items) yield Buffer.from(item instanceof EventFrames ? item.text : formatFrame(item));
}

function formatFrame(item: unknown): string {
  const name = item instanceof DroppedEventsNotice ? "event: resync\n" : "";
  return `${name}data: ${JSON.stringify(item)}\n\n`;
}

/** Interval of heartbeats. Proxies close connections that are silent for longer. */
const heartbeatMs = 15_000;
export const heartbeat = new EventFrames(":\n\n");

/** Adds heartbeats while there are no items. */
export async function* addHeartbeats<Item>(
  items: AsyncIterable<Item>,
  wall: WallClock,
): AsyncGenerator<Item | EventFrames> {
  const iterator = items[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const result = await withTimeout(wall, heartbeatMs, next);
      if (result === timedOut) {
        yield heartbeat;
        continue;
      }
      if (result.done) return;
      yield result.value;
      next = iterator.next();
    }
  } finally {
    void Promise.allSettled([next, iterator.return?.()]);
  }
}

/**
 * Streams the items that `take` returns until the signal is aborted. `take` is called at the start and whenever `watch`
 * notifies, but never before the client has read the previous items. `watch` returns a function that removes the
 * listener.
 */
export async function* streamItems<Item>(
  signal: AbortSignal,
  watch: (notify: () => void) => () => void,
  take: () => Promise<readonly Item[]> | readonly Item[],
): AsyncGenerator<Item> {
  let hasChanged = false;
  let wake = () => {};
  const notify = () => {
    hasChanged = true;
    wake();
  };
  const unwatch = watch(notify);
  signal.addEventListener("abort", notify);
  try {
    while (!signal.aborted) {
      hasChanged = false;
      yield* await take();
      if (hasChanged) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener("abort", notify);
    unwatch();
  }
}

/** Maximum size of the backlog of one client, which is sufficient for some thousand requests. */
const maxBacklogBytes = 2 ** 20;

/** Events that occurred while a client was busy, and that no collection has. The oldest is dropped first. */
export class EventBacklog<Item> {
  #log = new ByteBoundedLog<Item>(maxBacklogBytes);

  add(item: Item, bytes: number): void {
    this.#log.add(item, bytes);
  }

  /** Removes and returns the backlog. If events were dropped, the first item is their number. */
  take(): readonly (Item | DroppedEventsNotice)[] {
    const { dropped } = this.#log.amount;
    const items = this.#log.list();
    this.#log.clear();
    return dropped === 0 ? items : [new DroppedEventsNotice(dropped), ...items];
  }
}
