const minute = 60_000;

/** After the first failed attempt, after the second, and so on (contract-api.md, Limits). */
export const retryDelaysMs: readonly number[] = [5, 10, 20, 40, 80, 160].map((minutes) => minutes * minute);

/** So many attempts without 2xx in a row disable a subscription. */
export const failuresUntilDisabled = 6;

/**
 * When a delivery is tried again whose `failures`-th attempt failed at `at`; undefined: never (decisions.md, C19).
 * `workerTick` rounds up to the next whole minute, as the real retry worker does.
 */
export function nextAttemptAt(failures: number, at: number, workerTick: boolean): number | undefined {
  const delay = retryDelaysMs[failures - 1];
  if (delay === undefined) return undefined;
  return workerTick ? Math.ceil((at + delay) / minute) * minute : at + delay;
}

/** How many attempts of a subscription may be in flight, so that a dead receiver gets no more than six (C18). */
export const roomFor = (failureCount: number): number => Math.max(1, failuresUntilDisabled - failureCount);

const day = 24 * 60 * minute;

/** When the record of a final delivery may be dropped (decisions.md, C21). */
export const keepUntil = (outcome: "delivered" | "other", at: number): number =>
  at + (outcome === "delivered" ? 30 : 90) * day;
