import type { WallClock } from "../../../src/base/clock.ts";
import { timedOut } from "../../../src/base/timing.ts";

/**
 * Deadlines with the same duration. They share one pending sleep, because a timer for each of thousands of requests is
 * slow.
 */
export class DeadlineList<Waiting> {
  readonly #wall: WallClock;
  readonly #afterMs: number;
  readonly #late: (waiting: Waiting) => void;
  /** Entries are in the order in which they were added, which is also the order in which they expire. */
  readonly #entries = new Set<{ readonly waiting: Waiting; readonly until: number }>();
  readonly #stop = new AbortController();
  #isSleeping = false;

  /** Calls `late` for each entry that expires. */
  constructor(wall: WallClock, afterMs: number, late: (waiting: Waiting) => void) {
    this.#wall = wall;
    this.#afterMs = afterMs;
    this.#late = late;
  }

  /** Adds an entry and returns the function that removes it. The entry can then be added again. */
  enter(waiting: Waiting): () => void {
    const entry = { waiting, until: this.#wall.monotonicNow() + this.#afterMs };
    this.#entries.add(entry);
    if (!this.#isSleeping) void this.#watch();
    return () => this.#entries.delete(entry);
  }

  /** Removes and returns all entries, oldest first. */
  clear(): Waiting[] {
    const all = [...this.#entries].map(({ waiting }) => waiting);
    this.#entries.clear();
    return all;
  }

  /** Removes all entries without calling `late`. */
  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#isSleeping = true;
    for (;;) {
      const [first] = this.#entries;
      if (!first || this.#stop.signal.aborted) break;
      const remainingMs = first.until - this.#wall.monotonicNow();
      if (remainingMs > 0) await this.#wall.sleep(remainingMs, this.#stop.signal);
      else {
        this.#entries.delete(first);
        this.#late(first.waiting);
      }
    }
    this.#isSleeping = false;
  }
}

/** Limits the wall-clock time of waits, with one pending sleep for all entries of the same duration. */
export class TimeoutPool {
  readonly #wall: WallClock;
  /** Lists by duration. Durations are settings, so there are few. */
  readonly #deadlines = new Map<number, DeadlineList<() => void>>();

  constructor(wall: WallClock) {
    this.#wall = wall;
  }

  /** Returns the result of `work`, or `timedOut` if the work takes longer than `ms`. The work itself continues. */
  async withTimeout<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
    let remove = () => {};
    const late = new Promise<typeof timedOut>((resolve) => {
      remove = this.#getDeadlines(ms).enter(() => resolve(timedOut));
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      remove();
    }
  }

  /** Removes all deadlines. */
  stop(): void {
    for (const deadlines of this.#deadlines.values()) deadlines.stop();
  }

  #getDeadlines(ms: number): DeadlineList<() => void> {
    let deadlines = this.#deadlines.get(ms);
    if (deadlines === undefined) {
      deadlines = new DeadlineList(this.#wall, ms, (giveUp) => giveUp());
      this.#deadlines.set(ms, deadlines);
    }
    return deadlines;
  }
}
