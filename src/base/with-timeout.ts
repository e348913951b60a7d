import type { WallClock } from "./clock.ts";

/** Stands for a result that did not come in time. */
export const timedOut = Symbol("late");

/** What `work` gives, or `late` when that takes longer than `ms` of wall time. The work itself goes on. */
export async function withTimeout<T>(wall: WallClock, ms: number, work: Promise<T>): Promise<T | typeof timedOut> {
  const done = new AbortController();
  try {
    return await Promise.race([work, wall.sleep(ms, done.signal).then((): typeof timedOut => timedOut)]);
  } finally {
    // Without a reason of ours, a DOMException with its stack would be made for every request.
    done.abort(timedOut);
  }
}
