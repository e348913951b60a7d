import type { Wall } from "./clock.ts";

/** Stands for a result that did not come in time. */
export const late = Symbol("late");

/** What `work` gives, or `late` when that takes longer than `ms` of wall time. The work itself goes on. */
export async function within<T>(wall: Wall, ms: number, work: Promise<T>): Promise<T | typeof late> {
  const done = new AbortController();
  try {
    return await Promise.race([work, wall.sleep(ms, done.signal).then((): typeof late => late)]);
  } finally {
    // Without a reason of ours, a DOMException with its stack would be made for every request.
    done.abort(late);
  }
}
