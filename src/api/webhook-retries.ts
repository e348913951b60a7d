import { describeDuration, parseDuration } from "../base/quantities.ts";
import { joinWords } from "../base/text.ts";

const minute = 60_000;

/** Delay before each retry, in the order of the failures. */
export type RetrySchedule = readonly string[];

/** Schedule of the specification (Limits), the default of `--retry-schedule`. */
export const specifiedRetrySchedule: RetrySchedule = ["5m", "10m", "20m", "40m", "80m", "160m"];

/** Maximum delay in a schedule. */
export const maxRetryDelayMs = 365 * 24 * 60 * minute;

/** Number of consecutive attempts without 2xx that disables a webhook. */
export const failuresUntilDisabled = 6;

/** Duration of an outage after which a webhook with the specified schedule is disabled. */
export const specifiedOutageMs = specifiedRetrySchedule
  .slice(0, failuresUntilDisabled - 1)
  .reduce((sum, delay) => sum + parseDuration(delay)!, 0);

/**
 * Virtual time for which the record of a successful delivery is retained. Other records are retained longer
 * (DECISIONS.md, C21).
 */
export const deliveredRetentionMs = 30 * 24 * 60 * minute;

/** Returns the number of attempts of each delivery: the first one and a retry after each delay. */
export const getMaxAttempts = (schedule: RetrySchedule): number => schedule.length + 1;

/** Returns the delay after the failed attempt with number `failures`, or undefined if that attempt was the last. */
export function getRetryDelayMs(schedule: RetrySchedule, failures: number): number | undefined {
  const delay = schedule[failures - 1];
  return delay === undefined ? undefined : parseDuration(delay);
}

/**
 * Returns the time of the next attempt after attempt number `failures` failed at `at`, or undefined if there is none
 * (DECISIONS.md, C19). `workerTick` rounds up to the next whole minute, as the real retry worker does.
 */
export function computeNextAttempt(
  schedule: RetrySchedule,
  failures: number,
  at: number,
  workerTick: boolean,
): number | undefined {
  const delay = getRetryDelayMs(schedule, failures);
  if (delay === undefined) return undefined;
  return workerTick ? Math.ceil((at + delay) / minute) * minute : at + delay;
}

/** Formats a schedule, such as `5, 10 and 20 minutes` or `1 s and 1 h 30 min`. */
export function describeRetrySchedule(schedule: RetrySchedule): string {
  const delays = schedule.map((delay) => parseDuration(delay)!);
  if (delays.length === 0) return "no retries";
  const areMinutes = delays.every((ms) => ms % minute === 0);
  const words = delays.map((ms) => (areMinutes ? String(ms / minute) : describeDuration(ms)));
  return `${joinWords(words)}${areMinutes ? " minutes" : ""}`;
}

/** Outcomes of a delivery that was skipped without an attempt. */
export const skippedOutcomes = ["skipped_disabled", "skipped_deleted", "skipped_not_allowed"] as const;

/**
 * Outcomes of a delivery. `waiting`: no attempt yet. `retrying`: failed, and another attempt is planned. Both become
 * `skipped_disabled` if the webhook is disabled when the attempt is due (DECISIONS.md, C18). The others are final.
 */
export const deliveryOutcomes = ["waiting", "retrying", "delivered", "failed", ...skippedOutcomes] as const;
