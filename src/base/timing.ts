import type { WallClock } from "./clock.ts";

/** Stands for a result that did not come in time. */
export const timedOut = Symbol("late");

/** Result of `work`, or `late` if that takes longer than `ms` of wall-clock time. The work itself continues. */
export async function withTimeout<T>(wall: WallClock, ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
  const done = new AbortController();
  try {
    return await Promise.race([work, wall.sleep(ms, done.signal).then((): typeof timedOut => timedOut)]);
  } finally {
    // Without a reason of ours, a DOMException with its stack would be made for every request.
    done.abort(timedOut);
  }
}

/** Looks at once and every so often, one look after the other. Returns the function that ends it, after a last look. */
export function pollEvery(wall: WallClock, everyMs: number, look: () => Promise<void>): () => Promise<void> {
  const ended = new AbortController();
  async function watch(): Promise<void> {
    await look();
    while (!ended.signal.aborted) {
      await wall.sleep(everyMs, ended.signal);
      await look();
    }
  }
  const watching = watch();
  return () => {
    ended.abort();
    return watching;
  };
}

/** Calls in the next turn of the event loop. Node's own, read once: tests replace the global by a fake one. */
export const onNextTurn = setImmediate;

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => onNextTurn(resolve));
