import type { WallClock } from "./clock.ts";

/**
 * Idle time after which an HTTP server closes a connection. This is Fastify's default. Node's default of 5 s can close
 * a connection while a client that polls every few seconds reuses it.
 */
export const maxIdleConnectionMs = 72_000;

export const timedOut = Symbol("late");

/**
 * Returns the result of `work`, or `timedOut` after `ms` of wall-clock time or when the signal is aborted. The work
 * itself continues.
 */
export async function withTimeout<T>(
  wall: WallClock,
  ms: number,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<T | typeof timedOut> {
  const finished = new AbortController();
  const endSignal = signal ? AbortSignal.any([signal, finished.signal]) : finished.signal;
  try {
    return await Promise.race([work, wall.sleep(ms, endSignal).then((): typeof timedOut => timedOut)]);
  } finally {
    // Without a reason, each request would create a DOMException with a stack.
    finished.abort(timedOut);
  }
}

/**
 * Calls a function immediately and then at intervals, never concurrently. Returns a function that stops the polling
 * after a final call.
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

/**
 * Calls a function in the next turn of the event loop. The constant remains valid when a test replaces the global with
 * a fake.
 */
export const runOnNextTurn = setImmediate;

/** Resolves in the next turn of the event loop. */
export const waitForNextTurn = (): Promise<void> => new Promise((resolve) => runOnNextTurn(resolve));
