import { ByteBoundedLog } from "./byte-bounded-log.ts";
import { EventFrames } from "./reply.ts";

/** Replaces this many events in a stream whose reader was too slow: the reader has to read the state again. */
export class Resync {
  readonly missed: number;

  constructor(missed: number) {
    this.missed = missed;
  }
}

/** Server-sent events (WHATWG HTML, 9.2). Each is made when those before it have been taken off our hands. */
export async function* eventStream(items: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const item of items) yield Buffer.from(item instanceof EventFrames ? item.text : frameOf(item));
}

function frameOf(item: unknown): string {
  const name = item instanceof Resync ? "event: resync\n" : "";
  return `${name}data: ${JSON.stringify(item)}\n\n`;
}

/**
 * Streams events until the signal is aborted: all that `take` returns, which is called at the start and again whenever
 * `watch` rings, and never before the reader has read the previous ones. `watch` returns the function that ends it.
 */
export async function* follow<Item>(
  signal: AbortSignal,
  watch: (ring: () => void) => () => void,
  take: () => Promise<readonly Item[]> | readonly Item[],
): AsyncGenerator<Item> {
  let changed = false;
  let wake = () => {};
  const ring = () => {
    changed = true;
    wake();
  };
  const unwatch = watch(ring);
  signal.addEventListener("abort", ring);
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
    signal.removeEventListener("abort", ring);
    unwatch();
  }
}

/** At most this much waits for one reader: some thousand requests. */
const backlogBytes = 2 ** 20;

/** Events that happened while a reader was busy, if they are stored nowhere else: the oldest is dropped first. */
export class Backlog<Item> {
  #kept = new ByteBoundedLog<Item>(backlogBytes);

  add(item: Item, bytes: number): void {
    this.#kept.add(item, bytes);
  }

  /** All that waits; before it how much was dropped, if anything was. */
  take(): readonly (Item | Resync)[] {
    const { dropped } = this.#kept.amount;
    const items = this.#kept.list();
    this.#kept.clear();
    return dropped === 0 ? items : [new Resync(dropped), ...items];
  }
}
