import type { WallClock } from "../../../src/base/clock.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** Wall time that stands still until a test lets it pass. Sleepers wake in order. */
export class StandingWall implements WallClock {
  #now: number;
  #sleepers: Sleeper[] = [];
  /** How far the machine's clock was set back. */
  #setBack = 0;

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now - this.#setBack;
  }

  monotonicNow(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      };
      const wake = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { until: this.#now + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** How long the sleepers still sleep. */
  get sleeping(): readonly number[] {
    return this.#sleepers.map(({ until }) => until - this.#now).sort((a, b) => a - b);
  }

  /** Lets time pass: to each sleeper's end in turn, and lets what it wakes do its work before it goes on. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.until - b.until)[0];
      if (!next || next.until > end) break;
      this.#now = Math.max(this.#now, next.until);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
      await idle();
    }
    this.#now = end;
  }

  /** Somebody sets the machine's clock back. */
  setBack(ms: number): void {
    this.#setBack += ms;
  }
}

/** Lets everything that needs no time come to rest: promises, and callbacks that are ready. */
export const idle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
