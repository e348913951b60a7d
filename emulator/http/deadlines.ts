import type { Wall } from "../../src/base/clock.ts";

interface Waiting {
  readonly until: number;
  readonly late: () => void;
}

/**
 * Deadlines that are all equally far away when they are set, with one pending sleep for all of them: a timer for each
 * of thousands of requests, nearly none of which is ever late, would be felt.
 */
export class Deadlines {
  readonly #wall: Wall;
  readonly #afterMs: number;
  /** In the order in which they were set, which is the order in which they come. */
  readonly #waiting = new Set<Waiting>();
  readonly #stop = new AbortController();
  #sleeping = false;

  constructor(wall: Wall, afterMs: number) {
    this.#wall = wall;
    this.#afterMs = afterMs;
  }

  /** Calls `late` unless the returned function is called in time. */
  set(late: () => void): () => void {
    const waiting = { until: this.#wall.now() + this.#afterMs, late };
    this.#waiting.add(waiting);
    if (!this.#sleeping) void this.#watch();
    return () => void this.#waiting.delete(waiting);
  }

  /** Nothing is late any more. */
  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#sleeping = true;
    for (;;) {
      const [first] = this.#waiting;
      if (!first || this.#stop.signal.aborted) break;
      const left = first.until - this.#wall.now();
      if (left > 0) {
        await this.#wall.sleep(left, this.#stop.signal);
        continue;
      }
      this.#waiting.delete(first);
      first.late();
    }
    this.#sleeping = false;
  }
}
