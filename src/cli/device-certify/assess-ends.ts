import { describeState, notPolled } from "./assess-requests.ts";
import { maxWait } from "./assess-timing.ts";
import type { Assess, Assessment } from "./assessment.ts";
import type { ScenarioResult } from "./run-scenario.ts";
import { intervalSeconds } from "./scenarios.ts";

/** What prevents a assessment of how a sign-in ended. */
function notRefused(result: ScenarioResult, error: string): Assessment | undefined {
  if (result.polls.length === 0) return notPolled(result);
  if (result.endedAt !== undefined) return undefined;
  const detail = `The client did not poll often enough to get ${error}; ${describeState(result)}.`;
  return { verdict: "not_checked", detail };
}

export const assessStop =
  (error: string): Assess =>
  (result) => {
    const unseen = notRefused(result, error);
    if (unseen) return unseen;
    const later = result.polls.filter(({ step }) => step === undefined).length;
    if (later > 0) {
      const detail = `The client polled again with the same code after ${error}.`;
      return {
        verdict: "failed",
        detail,
        fix: `Stop at ${error}; begin again with a new device code if the user asks for it.`,
      };
    }
    if (result.exitCode !== undefined || result.deviceRequests.length > 1) {
      return { verdict: "passed", detail: `The client did not poll again after ${error}.` };
    }
    return { verdict: "not_checked", detail: `The client has not polled again after ${error}, and still runs.` };
  };

export const assessExitCode =
  (error: string): Assess =>
  (result) => {
    const unseen = notRefused(result, error);
    if (unseen) return unseen;
    const { exitCode } = result;
    if (exitCode === undefined) return { verdict: "not_checked", detail: "The client still runs." };
    if (exitCode !== 0) return { verdict: "passed", detail: `The client ended with exit code ${exitCode}.` };
    const detail = `The client ended with exit code 0 after ${error}, as if it had signed in.`;
    return { verdict: "warning", detail, fix: "Exit with another code, so that scripts notice." };
  };

export const assessContinuation =
  (what: string): Assess =>
  (result) => {
    if (result.polls.length === 0) return notPolled(result);
    const disturbed = result.polls.findIndex(({ step }) => step !== undefined && isDisturbance(step));
    if (disturbed === -1) {
      return { verdict: "not_checked", detail: `The client polled too few times; ${describeState(result)}.` };
    }
    const next = result.polls[disturbed + 1];
    if (next) {
      const waitedMs = maxWait(result.polls[disturbed]!, next);
      const detail = `The client polled again ${(waitedMs / 1_000).toFixed(1)} s after ${what}.`;
      if (waitedMs >= intervalSeconds * 750) return { verdict: "passed", detail };
      return { verdict: "warning", detail, fix: "Wait for at least the interval; double it at each failure." };
    }
    const fix = "Wait for at least the interval, then poll again until the code expires.";
    if (result.exitCode === undefined) {
      return { verdict: "not_checked", detail: `The client has not polled again after ${what}, and still runs.` };
    }
    return { verdict: "warning", detail: `The client gave up after ${what} (exit code ${result.exitCode}).`, fix };
  };

const isDisturbance = (step: string): boolean => ["reset", "html-503", "lost"].includes(step);
