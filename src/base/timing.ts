import type { WallClock } from "./clock.ts";

/**
 * Idle time after which an HTTP server closes a connection. This is Fastify's default. Node's default of 5 s can close
 * a connection while a client that polls every few seconds reuses it.
 */
export const maxIdleConnectionMs = 72_000;

export const timedOut = Symbol("late");

/**
 * Returns the result of `work`, or `timedOut` after `ms` of wall-clock time or when the signal is aborted. The work
 * itself continues. Input that arrived while this process was stopped or busy is read before the timeout counts.
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
    const timeout = wall.sleep(ms, endSignal).then(waitForNextTurn);
    return await Promise.race([work, timeout.then((): typeof timedOut => timedOut)]);
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

/**
 * Deadlines with the same duration. They share one pending sleep, because a timer for each of thousands of requests or
 * transactions is slow. No process waits for the sleep. Input that arrived while this process was stopped or busy is
 * read before an entry expires.
 */
export class DeadlineList<Subject> {
  readonly #wall: WallClock;
  readonly #durationMs: number;
  readonly #onExpired: (subject: Subject) => void;
  /** Entries are in the order in which they were added, which is also the order in which they expire. */
  readonly #entries = new Set<{ readonly subject: Subject; readonly expiresAtMs: number }>();
  readonly #stop = new AbortController();
  #isSleeping = false;

  /** Calls `onExpired` for each entry that expires. */
  constructor(wall: WallClock, durationMs: number, onExpired: (subject: Subject) => void) {
    this.#wall = wall;
    this.#durationMs = durationMs;
    this.#onExpired = onExpired;
  }

  /** Adds an entry and returns the function that removes it. The entry can then be added again. */
  add(subject: Subject): () => void {
    const entry = { subject, expiresAtMs: this.#wall.monotonicNow() + this.#durationMs };
    this.#entries.add(entry);
    if (!this.#isSleeping) void this.#watch();
    return () => this.#entries.delete(entry);
  }

  /** Removes and returns all entries, oldest first. */
  clear(): Subject[] {
    const subjects = [...this.#entries].map(({ subject }) => subject);
    this.#entries.clear();
    return subjects;
  }

  /** Removes all entries without calling `onExpired`. */
  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#isSleeping = true;
    for (;;) {
      const [first] = this.#entries;
      if (!first || this.#stop.signal.aborted) break;
      const remainingMs = first.expiresAtMs - this.#wall.monotonicNow();
      if (remainingMs > 0) {
        await this.#wall.sleep(remainingMs, this.#stop.signal, { inBackground: true });
        await waitForNextTurn();
      } else {
        this.#entries.delete(first);
        this.#onExpired(first.subject);
      }
    }
    this.#isSleeping = false;
  }
}
