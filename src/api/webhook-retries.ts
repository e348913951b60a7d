import { describeDuration, parseDuration } from "../base/duration.ts";

const minute = 60_000;

/** The delay before each retry: after the first failure, after the second, and so on. */
export type RetrySchedule = readonly string[];

/** The schedule of the specification (Limits), for workspaces without their own. */
export const specifiedRetrySchedule: RetrySchedule = ["5m", "10m", "20m", "40m", "80m", "160m"];

/** The longest delay that a schedule may contain. */
export const maxRetryDelayMs = 365 * 24 * 60 * minute;

/** This many consecutive attempts without 2xx disable a subscription. */
export const failuresUntilDisabled = 6;

/** After this time, by the specification, a dead receiver has failed often enough to be disabled. */
export const specifiedOutageMs = specifiedRetrySchedule
  .slice(0, failuresUntilDisabled - 1)
  .reduce((sum, delay) => sum + parseDuration(delay)!, 0);

/**
 * The record of a successful delivery is retained for this virtual time; other records are retained longer
 * (DECISIONS.md, C21).
 */
export const deliveredRetentionMs = 30 * 24 * 60 * minute;

/** Attempts of each delivery: the first one, and a retry after each delay. */
export const getMaxAttempts = (schedule: RetrySchedule): number => schedule.length + 1;

/** The delay after the failed attempt with number `failures`; undefined: it was the last one. */
export function getRetryDelayMs(schedule: RetrySchedule, failures: number): number | undefined {
  const delay = schedule[failures - 1];
  return delay === undefined ? undefined : parseDuration(delay);
}

/**
 * The time of the next attempt, after the attempt with number `failures` failed at `at`; undefined: there is none
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

/** `5, 10 and 20 minutes`, `1 s and 1 h 30 min` */
export function describeRetrySchedule(schedule: RetrySchedule): string {
  const delays = schedule.map((delay) => parseDuration(delay)!);
  if (delays.length === 0) return "no retries";
  const areMinutes = delays.every((ms) => ms % minute === 0);
  const words = delays.map((ms) => (areMinutes ? String(ms / minute) : describeDuration(ms)));
  const list = words.length === 1 ? words[0]! : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
  return areMinutes ? `${list} minutes` : list;
}
