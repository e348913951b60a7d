import type { WallClock } from "../../../src/base/clock.ts";

import { timedOut } from "../../../src/base/timing.ts";

class Waiter<Waiting> {
  readonly waiting: Waiting | undefined;
  readonly until: number;
  before: Waiter<Waiting> = this;
  after: Waiter<Waiting> = this;

  constructor(waiting: Waiting | undefined, until: number) {
    this.waiting = waiting;
    this.until = until;
  }

  enter(end: Waiter<Waiting>): void {
    this.before = end.before;
    this.after = end;
    this.before.after = this;
    end.before = this;
  }

  /** Clears the references to the neighbors, so that the garbage collector does not follow them to later entries. */
  remove(): void {
    this.before.after = this.after;
    this.after.before = this.before;
    this.before = this;
    this.after = this;
  }
}

/**
 * Deadlines with the same duration. They share one pending sleep, because a timer for each of thousands of requests is
 * slow. The entries form a linked list, because a Set retains former entries in its outgrown tables.
 */
export class DeadlineList<Waiting> {
  readonly #wall: WallClock;
  readonly #afterMs: number;
  readonly #late: (waiting: Waiting) => void;
  /** Entries are in the order in which they were added, which is also the order in which they expire. */
  readonly #end = new Waiter<Waiting>(undefined, Number.POSITIVE_INFINITY);
  readonly #stop = new AbortController();
  #sleeping = false;

  /** Calls `late` for each entry that expires. */
  constructor(wall: WallClock, afterMs: number, late: (waiting: Waiting) => void) {
    this.#wall = wall;
    this.#afterMs = afterMs;
    this.#late = late;
  }

  /** Adds an entry and returns the function that removes it. The entry can then be added again. */
  enter(waiting: Waiting): () => void {
    const waiter = new Waiter(waiting, this.#wall.monotonicNow() + this.#afterMs);
    waiter.enter(this.#end);
    if (!this.#sleeping) void this.#watch();
    return () => waiter.remove();
  }

  /** Removes and yields all entries, oldest first. */
  *clear(): Generator<Waiting> {
    for (let first = this.#end.after; first !== this.#end; first = this.#end.after) {
      first.remove();
      yield first.waiting!;
    }
  }

  /** Removes all entries without calling `late`. */
  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#sleeping = true;
    for (let first = this.#end.after; first !== this.#end; first = this.#end.after) {
      if (this.#stop.signal.aborted) break;
      const left = first.until - this.#wall.monotonicNow();
      if (left > 0) {
        await this.#wall.sleep(left, this.#stop.signal);
      } else {
        first.remove();
        this.#late(first.waiting!);
      }
    }
    this.#sleeping = false;
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
  withTimeout<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      const remove = this.#getDeadlines(ms).enter(() => resolve(timedOut));
      const settle =
        <Outcome>(pass: (outcome: Outcome) => void) =>
        (outcome: Outcome) => {
          remove();
          pass(outcome);
        };
      work.then(settle(resolve), settle(reject));
    });
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
