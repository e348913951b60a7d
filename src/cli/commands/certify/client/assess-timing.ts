import { describeState, reportNeverPolled } from "./assess-requests.ts";
import type { Assess, Assessment } from "./assessment.ts";
import type { OAuthRequest } from "./oauth-request.ts";
import type { ScenarioResult } from "./run-scenario.ts";
import { intervalSeconds, slowDownSeconds } from "./scenarios.ts";

/** A client with a fixed timer is late once and early the next time. Over all polls, this cancels out. */
const intervalSlackMs = 900;
/** The tolerance for one wait of several seconds. */
const waitSlackMs = 750;
/** Above this delay, measured times are inconclusive. */
const maxDelayMs = 1_500;

/** The longest possible time between the arrivals of two requests. */
const getMaxWait = (first: OAuthRequest, second: OAuthRequest): number => second.at - first.earliestAt;

/** Assesses a poll that may have been observed too late to measure from. */
function assessDelay({ at, earliestAt }: OAuthRequest): Assessment | undefined {
  if (at - earliestAt <= maxDelayMs) return undefined;
  const detail = `This machine was busy: times are off by up to ${formatSeconds(at - earliestAt)} s.`;
  return { result: "not_checked", detail };
}

const formatSeconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** Milliseconds between consecutive polls, by the number of the first. */
const getWaits = ({ polls }: ScenarioResult): readonly number[] =>
  polls.slice(1).map((poll, i) => getMaxWait(polls[i]!, poll));

export function assessInterval(result: ScenarioResult): Assessment {
  if (result.polls.length === 0) return reportNeverPolled(result);
  // A response with tokens ends the sign-in. Later requests are not polls.
  const polls = result.polls.filter(({ step }) => step !== undefined);
  if (polls.length < 3)
    return { result: "not_checked", detail: `The client polled ${polls.length} times; ${describeState(result)}.` };
  const delay = assessDelay(polls[0]!);
  if (delay) return delay;
  const tookMs = getMaxWait(polls[0]!, polls.at(-1)!);
  const leastMs = (polls.length - 1) * intervalSeconds * 1_000;
  const detail = `${polls.length} polls in ${formatSeconds(tookMs)} s; the interval is ${intervalSeconds} s.`;
  if (tookMs >= leastMs - intervalSlackMs) return { result: "passed", detail };
  return { result: "failed", detail, fix: "Wait for `interval` seconds (5 if it is missing) before each poll." };
}

/** The pace of the client before the first slow_down: slower than requested is allowed. */
function measurePaceMs(result: ScenarioResult): number {
  const [first = 0] = getWaits(result);
  // It may have been late, by a busy machine, and is then as fast as requested.
  return Math.min(first, Math.max(intervalSeconds * 1_000, first - 2_000));
}

const getSlowDownMs = (times: number) => times * slowDownSeconds * 1_000;

export const assessAddition = (result: ScenarioResult): Assessment =>
  assessWait(result, {
    wait: 1,
    slowDownCount: 1,
    fix: "At slow_down add 5 s to the interval, and wait for that before the next poll.",
  });

export function assessLastingAddition(result: ScenarioResult): Assessment {
  if (assessAddition(result).result !== "passed") return reportDependency("slow-down.added");
  const fix = "Keep the longer interval until the end of the sign-in.";
  return assessWait(result, { wait: 2, slowDownCount: 1, fix });
}

export function assessEachAddition(result: ScenarioResult): Assessment {
  if (assessLastingAddition(result).result !== "passed") return reportDependency("slow-down.for-good");
  const fix = "Add 5 s to the present interval at each slow_down, not to the first one.";
  return assessWait(result, { wait: 3, slowDownCount: 2, fix });
}

const reportDependency = (id: string): Assessment => ({
  result: "not_checked",
  detail: `Not assessed unless ${id} passes.`,
});

function assessWait(
  result: ScenarioResult,
  { wait, slowDownCount, fix }: { readonly wait: number; readonly slowDownCount: number; readonly fix: string },
): Assessment {
  if (result.polls.length === 0) return reportNeverPolled(result);
  const waitedMs = getWaits(result)[wait];
  if (waitedMs === undefined) {
    const detail = `The client polled ${result.polls.length} times; ${describeState(result)}.`;
    return { result: "not_checked", detail };
  }
  const delay = assessDelay(result.polls[wait]!);
  if (delay) return delay;
  const leastMs = measurePaceMs(result) + getSlowDownMs(slowDownCount);
  const detail = `${formatSeconds(waitedMs)} s between polls ${wait + 1} and ${wait + 2}; at least ${formatSeconds(leastMs)} s are due.`;
  if (waitedMs >= leastMs - waitSlackMs) return { result: "passed", detail };
  return { result: "failed", detail, fix };
}

/** Reasons that prevent an assessment of the end of a sign-in. */
function reportUnexpectedSuccess(result: ScenarioResult, error: string): Assessment | undefined {
  if (result.polls.length === 0) return reportNeverPolled(result);
  if (result.endedAt !== undefined) return undefined;
  const detail = `The client did not poll often enough to get ${error}; ${describeState(result)}.`;
  return { result: "not_checked", detail };
}

export const assessStop =
  (error: string): Assess =>
  (result) => {
    const unexpectedSuccess = reportUnexpectedSuccess(result, error);
    if (unexpectedSuccess) return unexpectedSuccess;
    const laterPolls = result.polls.filter(({ step }) => step === undefined).length;
    if (laterPolls > 0) {
      const detail = `The client polled again with the same code after ${error}.`;
      return {
        result: "failed",
        detail,
        fix: `Stop at ${error}; begin again with a new device code if the user asks for it.`,
      };
    }
    if (result.exitCode !== undefined || result.deviceRequests.length > 1) {
      return { result: "passed", detail: `The client did not poll again after ${error}.` };
    }
    return { result: "not_checked", detail: `The client has not polled again after ${error}, and still runs.` };
  };

export const assessExitCode =
  (error: string): Assess =>
  (result) => {
    const unexpectedSuccess = reportUnexpectedSuccess(result, error);
    if (unexpectedSuccess) return unexpectedSuccess;
    const { exitCode } = result;
    if (exitCode === undefined) return { result: "not_checked", detail: "The client still runs." };
    if (exitCode !== 0) return { result: "passed", detail: `The client ended with exit code ${exitCode}.` };
    const detail = `The client ended with exit code 0 after ${error}, as if it had signed in.`;
    return { result: "warning", detail, fix: "Exit with another code, so that scripts notice." };
  };

export const assessContinuation =
  (what: string): Assess =>
  (result) => {
    if (result.polls.length === 0) return reportNeverPolled(result);
    const disturbed = result.polls.findIndex(({ step }) => step !== undefined && isDisturbance(step));
    if (disturbed === -1) {
      return { result: "not_checked", detail: `The client polled too few times; ${describeState(result)}.` };
    }
    const next = result.polls[disturbed + 1];
    if (next) {
      const waitedMs = getMaxWait(result.polls[disturbed]!, next);
      const detail = `The client polled again ${(waitedMs / 1_000).toFixed(1)} s after ${what}.`;
      if (waitedMs >= intervalSeconds * 750) return { result: "passed", detail };
      return { result: "warning", detail, fix: "Wait for at least the interval; double it at each failure." };
    }
    const fix = "Wait for at least the interval, then poll again until the code expires.";
    if (result.exitCode === undefined) {
      return { result: "not_checked", detail: `The client has not polled again after ${what}, and still runs.` };
    }
    return { result: "warning", detail: `The client gave up after ${what} (exit code ${result.exitCode}).`, fix };
  };

const isDisturbance = (step: string): boolean => ["reset", "html-503", "lost"].includes(step);
