import type { WallClock } from "../../../src/base/clock.ts";

export interface MovedWallClock extends WallClock {
  /** All sleeps so far, in seconds. */
  readonly slept: readonly number[];
}

/** Creates a wall clock that advances by each sleep immediately and reports it. */
export function createMovedWallClock(onSleep: (ms: number) => Promise<unknown> | unknown = () => {}): MovedWallClock {
  let now = Date.parse("2031-01-02T03:04:05Z");
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    monotonicNow: () => now,
    async sleep(ms) {
      now += ms;
      slept.push(ms / 1_000);
      await onSleep(ms);
    },
  };
}
