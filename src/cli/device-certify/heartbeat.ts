import { systemWallClock } from "../../base/clock.ts";

const beatMs = 25;

/**
 * Says since when an event may have been waiting to be seen. On a busy machine a request is seen late, and the wait before
 * the next one looks shorter than it was: a client must not be blamed for that.
 */
export class Heartbeat {
  #last: number;
  #previous: number;

  constructor(signal: AbortSignal) {
    this.#last = systemWallClock.monotonicNow();
    this.#previous = this.#last;
    void this.#run(signal);
  }

  /** The earliest time at which an event that is seen now can have happened, monotonic milliseconds. */
  get earliest(): number {
    // After a delay the beat comes first, and the events of that time after it.
    return this.#previous;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemWallClock.sleep(beatMs, signal);
      this.#previous = this.#last;
      this.#last = systemWallClock.monotonicNow();
    }
  }
}
