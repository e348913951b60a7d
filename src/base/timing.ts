import type { WallClock } from "./clock.ts";

/** The result of work that did not finish in time. */
export const timedOut = Symbol("late");

/** Result of `work`, or `late` if it takes longer than `ms` of wall-clock time. The work itself continues. */
export async function withTimeout<T>(wall: WallClock, ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
  const done = new AbortController();
  try {
    return await Promise.race([work, wall.sleep(ms, done.signal).then((): typeof timedOut => timedOut)]);
  } finally {
    // Without an explicit reason, every request would create a DOMException with a stack.
    done.abort(timedOut);
  }
}

/**
 * Calls a function at once and then at intervals, never concurrently. Returns a function that stops it after a final
 * call.
 */
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

/** Calls a function in the next turn of the event loop. It is read once, because tests replace the global by a fake. */
export const onNextTurn = setImmediate;

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => onNextTurn(resolve));
