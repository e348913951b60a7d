import { ByteBoundedLog } from "./byte-bounded-log.ts";
import { EventFrames } from "./reply.ts";

/** Replaces this many events in a stream whose client was too slow. The client has to read the state again. */
export class Resync {
  readonly missed: number;

  constructor(missed: number) {
    this.missed = missed;
  }
}

/** Server-sent events (WHATWG HTML, 9.2). Each frame is created when the previous ones have been read. */
export async function* createEventStream(items: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const item of items) yield Buffer.from(item instanceof EventFrames ? item.text : formatFrame(item));
}

function formatFrame(item: unknown): string {
  const name = item instanceof Resync ? "event: resync\n" : "";
  return `${name}data: ${JSON.stringify(item)}\n\n`;
}

/**
 * Streams events until the signal is aborted: all items that `take` returns. `take` is called at the start and again
 * when `watch` notifies, but never before the client has read the previous items. `watch` returns a function that stops
 * it.
 */
export async function* follow<Item>(
  signal: AbortSignal,
  watch: (ring: () => void) => () => void,
  take: () => Promise<readonly Item[]> | readonly Item[],
): AsyncGenerator<Item> {
  let changed = false;
  let wake = () => {};
  const notify = () => {
    changed = true;
    wake();
  };
  const unwatch = watch(notify);
  signal.addEventListener("abort", notify);
  try {
    while (!signal.aborted) {
      changed = false;
      yield* await take();
      if (changed) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener("abort", notify);
    unwatch();
  }
}

/** The maximum size of the backlog of one client: some thousand requests. */
const backlogBytes = 2 ** 20;

/** Events that happened while a client was busy, if they are stored nowhere else. The oldest is dropped first. */
export class Backlog<Item> {
  #log = new ByteBoundedLog<Item>(backlogBytes);

  add(item: Item, bytes: number): void {
    this.#log.add(item, bytes);
  }

  /** Removes and returns the backlog. If events were dropped, it starts with their number. */
  take(): readonly (Item | Resync)[] {
    const { dropped } = this.#log.amount;
    const items = this.#log.list();
    this.#log.clear();
    return dropped === 0 ? items : [new Resync(dropped), ...items];
  }
}
