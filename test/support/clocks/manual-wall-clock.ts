import type { WallClock } from "../../../src/base/clock.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A wall clock that a test advances. Sleepers wake in order. */
export class ManualWallClock implements WallClock {
  #now: number;
  #sleepers: Sleeper[] = [];
  /** Duration in ms by which the machine's clock was set back. */
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

  /** Remaining sleep durations. */
  get sleeping(): readonly number[] {
    return this.#sleepers.map(({ until }) => until - this.#now).sort((a, b) => a - b);
  }

  /** Advances time to the end of each sleep in turn, and waits until the resumed work is idle. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.until - b.until)[0];
      if (!next || next.until > end) break;
      this.#now = Math.max(this.#now, next.until);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
      await waitForIdle();
    }
    this.#now = end;
  }

  /** Sets the machine's clock back. */
  setBack(ms: number): void {
    this.#setBack += ms;
  }
}

/** Waits until no promise and no callback is pending that needs no time. */
export const waitForIdle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
