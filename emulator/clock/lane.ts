import type { Entry } from "./schedule.ts";

/**
 * Entries of one lane that are due. Those admitted count against the lane's room from the moment they are let
 * through until their outcome is recorded; the others wait in order.
 */
export class Lane {
  readonly #room: () => Promise<number>;
  readonly #admit: (entries: readonly Entry[]) => void;
  readonly #waiting: Entry[] = [];
  #admitted = 0;
  #asking = false;
  #askAgain = false;

  /** `room` says how many may be under way now; `admit` is told which are let through after they had to wait. */
  constructor(room: () => Promise<number>, admit: (entries: readonly Entry[]) => void) {
    this.#room = room;
    this.#admit = admit;
  }

  get empty(): boolean {
    return this.#admitted === 0 && this.#waiting.length === 0 && !this.#asking;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** True: it may start at once. False: it waits, and `admit` tells when it is let through. */
  offer(entry: Entry): boolean {
    // One at a time is always allowed, so a lane with a single entry needs no question.
    if (this.empty) {
      this.#admitted += 1;
      return true;
    }
    this.#waiting.push(entry);
    void this.#release();
    return false;
  }

  /** The outcome of an admitted entry is recorded. */
  finished(): void {
    this.#admitted -= 1;
    if (this.#waiting.length > 0) void this.#release();
  }

  async #release(): Promise<void> {
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    this.#asking = true;
    do {
      this.#askAgain = false;
      // Counted before the question: an outcome recorded in between is then counted on both sides, never on none.
      const admitted = this.#admitted;
      const room = Math.max(1, await this.#room());
      const through = this.#waiting.splice(0, Math.max(0, room - admitted));
      this.#admitted += through.length;
      if (through.length > 0) this.#admit(through);
    } while (this.#askAgain && this.#waiting.length > 0);
    this.#asking = false;
  }
}
