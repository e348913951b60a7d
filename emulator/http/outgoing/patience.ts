import type { Wall } from "../../../src/base/clock.ts";
import { late } from "../../../src/base/within.ts";
import { Deadlines } from "./deadlines.ts";

/** Waits for others, each time for so much wall time at most; with one pending sleep for all who wait equally long. */
export class Patience {
  readonly #wall: Wall;
  /** By how long: settings say it, so there are few. */
  readonly #deadlines = new Map<number, Deadlines<() => void>>();

  constructor(wall: Wall) {
    this.#wall = wall;
  }

  /** What `work` gives, or `late` when that takes longer than `ms`. The work itself goes on. */
  within<T>(ms: number, work: Promise<T>): Promise<T | typeof late> {
    return new Promise((resolve, reject) => {
      const leave = this.#deadlinesOf(ms).enter(() => resolve(late));
      const settle =
        <Outcome>(pass: (outcome: Outcome) => void) =>
        (outcome: Outcome) => {
          leave();
          pass(outcome);
        };
      work.then(settle(resolve), settle(reject));
    });
  }

  /** Nothing is late any more. */
  stop(): void {
    for (const deadlines of this.#deadlines.values()) deadlines.stop();
  }

  #deadlinesOf(ms: number): Deadlines<() => void> {
    let deadlines = this.#deadlines.get(ms);
    if (deadlines === undefined) {
      deadlines = new Deadlines(this.#wall, ms, (giveUp) => giveUp());
      this.#deadlines.set(ms, deadlines);
    }
    return deadlines;
  }
}
