import type { WallClock } from "../../../src/base/clock.ts";

/**
 * Ends what stays open too long, with one pending sleep at a time instead of a timer per transaction, which would be
 * felt on every write. The sleep outlives what it was begun for, and a store that stood beside may be let go unclosed: no
 * process is to wait for that.
 */
export class Watchdog {
  readonly #wall: WallClock;
  readonly #limitMs: number;
  readonly #stop = new AbortController();
  #current: { readonly since: number; readonly expire: () => void } | undefined;
  #sleeping = false;

  constructor(wall: WallClock, limitMs: number) {
    this.#wall = wall;
    this.#limitMs = limitMs;
  }

  /** Calls `expire` once, when `release` does not come within the limit. */
  guard(expire: () => void): void {
    this.#current = { since: this.#wall.monotonicNow(), expire };
    if (!this.#sleeping) void this.#watch();
  }

  /** The same, but what is being guarded already stays so. */
  guardUnlessGuarded(expire: () => void): void {
    if (this.#current === undefined) this.guard(expire);
  }

  release(): void {
    this.#current = undefined;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#sleeping = true;
    let left = this.#limitMs;
    while (left > 0) {
      await this.#wall.sleep(left, this.#stop.signal, { inBackground: true });
      if (this.#stop.signal.aborted || this.#current === undefined) break;
      left = this.#current.since + this.#limitMs - this.#wall.monotonicNow();
    }
    this.#sleeping = false;
    if (left > 0) return;
    this.#current?.expire();
    this.#current = undefined;
  }
}
