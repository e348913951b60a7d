import type { WallClock } from "../../../src/base/clock.ts";

export interface MovedWall extends WallClock {
  /** Every sleep so far, in seconds. */
  readonly slept: readonly number[];
}

/** A wall clock on which sleeping takes no time: it moves on by what was asked for, and tells. */
export function movedWall(onSleep: (ms: number) => Promise<unknown> | unknown = () => {}): MovedWall {
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
