const minute = 60_000;

/** After the first failed attempt, after the second, and so on, in milliseconds (the specification, Limits). */
export const retryDelaysMs: readonly number[] = [5, 10, 20, 40, 80, 160].map((minutes) => minutes * minute);

/** Of the schedule, for each delivery: the first one, and a retry after each delay. */
export const maxAttempts = retryDelaysMs.length + 1;

/** So long, virtually, the record of a delivery that arrived is kept; of others it is kept longer (DECISIONS.md, C21). */
export const deliveredRetentionMs = 30 * 24 * 60 * minute;

/** So many attempts without 2xx in a row disable a subscription. */
export const failuresUntilDisabled = 6;

/**
 * When a delivery is tried again whose `failures`-th attempt failed at `at`; undefined: never (DECISIONS.md, C19).
 * `workerTick` rounds up to the next whole minute, as the real retry worker does.
 */
export function nextAttemptAt(failures: number, at: number, workerTick: boolean): number | undefined {
  const delay = retryDelaysMs[failures - 1];
  if (delay === undefined) return undefined;
  return workerTick ? Math.ceil((at + delay) / minute) * minute : at + delay;
}
