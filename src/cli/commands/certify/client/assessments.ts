import type { CheckResult } from "../check.ts";
import type { ClientRunResult } from "./run-scenario.ts";
import { minIntervalSeconds, type OAuthRequest, slowDownSeconds } from "./scripted-server.ts";

export interface Assessment {
  readonly result: CheckResult;
  /** Observation as one sentence. */
  readonly detail: string;
  readonly fix?: string;
}

export type Assessor = (result: ClientRunResult) => Assessment;

const pass = (detail: string): Assessment => ({ result: "passed", detail });
const fail = (detail: string, fix: string): Assessment => ({ result: "failed", detail, fix });
const warn = (detail: string, fix: string): Assessment => ({ result: "warning", detail, fix });
const skip = (detail: string): Assessment => ({ result: "not_checked", detail });

const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

const notRequestedAssessment = skip("The client requested no device code.");

const reportNeverPolled = (result: ClientRunResult): Assessment =>
  result.challenge === undefined ? notRequestedAssessment : skip(`The client did not poll; ${describeState(result)}.`);

const reportFewPolls = (result: ClientRunResult): Assessment =>
  skip(`The client polled ${result.polls.length} times; ${describeState(result)}.`);

const describeState = ({ exitCode }: ClientRunResult): string =>
  exitCode === undefined ? "it was still running" : `it ended with exit code ${exitCode}`;

export function assessEncoding({ deviceRequests, polls }: ClientRunResult): Assessment {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return notRequestedAssessment;
  const fix = "Send the fields in the body of a POST with content-type: application/x-www-form-urlencoded.";
  const invalidRequest = requests.find(({ method, encoding }) => method !== "POST" || encoding === "other");
  if (invalidRequest) {
    const contentType = invalidRequest.contentType === "" ? "no content type" : invalidRequest.contentType;
    const inQuery = Object.keys(invalidRequest.query).length > 0 ? ", with fields in the query" : "";
    return fail(`The client sent ${invalidRequest.method} with ${contentType}${inQuery}.`, fix);
  }
  const sendsJson = requests.some(({ encoding }) => encoding === "json");
  return sendsJson
    ? warn("The client sends JSON, which other servers reject.", fix)
    : pass("All requests are form-encoded.");
}

export function assessFields({ deviceRequests, polls }: ClientRunResult): Assessment {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return notRequestedAssessment;
  if (requests.some(({ fields }) => fields === undefined)) return skip("A body cannot be read.");
  const problem = deviceRequests.map(findMissingClient).find(Boolean) ?? polls.map(findPollProblem).find(Boolean);
  if (problem !== undefined)
    return fail(problem, `Poll with grant_type=${deviceGrantType}, device_code and client_id.`);
  return polls.length === 0 ? skip("The client did not poll.") : pass("All requests contain the required fields.");
}

const findMissingClient = ({ fields, isAuthenticated }: OAuthRequest): string | undefined =>
  fields?.client_id === undefined && !isAuthenticated ? "A request has no client_id." : undefined;

function findPollProblem(poll: OAuthRequest): string | undefined {
  const { fields = {} } = poll;
  if (fields.grant_type !== deviceGrantType) return `A poll has grant_type ${JSON.stringify(fields.grant_type ?? "")}.`;
  if (fields.device_code === undefined) return "A poll has no device_code.";
  return findMissingClient(poll);
}

export function assessShownCode(result: ClientRunResult): Assessment {
  const stripSeparators = (text: string) => text.replaceAll(/[-\s]/g, "").toUpperCase();
  const code = stripSeparators(result.challenge?.userCode ?? "");
  return assessOutput(result, stripSeparators(result.output).includes(code), "user code", "user_code");
}

export function assessShownAddress(result: ClientRunResult): Assessment {
  // Clients may omit the scheme, and terminals wrap long lines.
  const address = result.challenge?.verificationUri.replace(/^https?:\/\//, "") ?? "";
  const isShown = result.output.replaceAll(/\s/g, "").includes(address);
  return assessOutput(result, isShown, "verification address", "verification_uri");
}

function assessOutput({ challenge, exitCode, output }: ClientRunResult, isShown: boolean, name: string, field: string) {
  if (!challenge) return notRequestedAssessment;
  if (isShown) return pass(`The ${name} was shown.`);
  // A pipe can buffer the output of a running program.
  return exitCode === undefined && output === ""
    ? skip("The client has printed nothing yet, and was still running.")
    : fail(
        `The ${name} does not appear in what the client printed.`,
        `Print ${field} on standard output or standard error.`,
      );
}

export function assessDelivery(result: ClientRunResult): Assessment {
  const { hasTokens, polls, exitCode } = result;
  if (polls.length === 0) return reportNeverPolled(result);
  if (!hasTokens) return skip(`No poll received the tokens; ${describeState(result)}.`);
  if (polls.some(({ step }) => step === undefined)) {
    const fix = "Stop polling at the first response with an access_token.";
    return fail("The client polled again after it had received the tokens.", fix);
  }
  if (exitCode === undefined) return skip("The client received the tokens, and is still running.");
  const detail = `The client received the tokens, and ended with exit code ${exitCode}.`;
  if (exitCode === 0) return pass(detail);
  return fail(detail, "Accept the token response: access_token, token_type, expires_in, scope.");
}

export function assessSecrets({ challenge, exposedIn }: ClientRunResult): Assessment {
  if (!challenge) return notRequestedAssessment;
  if (exposedIn === undefined) {
    return skip("The arguments of processes were not seen: the client did not poll, or the system hides them.");
  }
  if (exposedIn === null) return pass("No process had a secret among its arguments.");
  const detail = `The device code or a token was an argument of ${JSON.stringify(exposedIn)}.`;
  return fail(detail, "Pass secrets to other programs by standard input or a private file.");
}

/** A client with a fixed timer can be late once and early the next time. The differences cancel out over all polls. */
const maxTotalDeviationMs = 900;
/** Tolerance for one wait of several seconds. */
const maxWaitDeviationMs = 750;
/** Measured times are inconclusive above this delay. */
const maxDelayMs = 1_500;

const formatSeconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** Returns the maximum possible time between the arrivals of two requests. */
const getMaxWait = (firstRequest: OAuthRequest, secondRequest: OAuthRequest): number =>
  secondRequest.at - firstRequest.earliestAt;

/** Assesses a poll that was observed too late for a measurement. Returns undefined if the poll was on time. */
function assessDelay({ at, earliestAt }: OAuthRequest): Assessment | undefined {
  if (at - earliestAt <= maxDelayMs) return undefined;
  return skip(`This machine was busy: times are off by up to ${formatSeconds(at - earliestAt)} s.`);
}

/** Returns the milliseconds between consecutive polls. */
const getWaits = ({ polls }: ClientRunResult): readonly number[] =>
  polls.slice(1).map((poll, i) => getMaxWait(polls[i]!, poll));

export function assessInterval(result: ClientRunResult): Assessment {
  if (result.polls.length === 0) return reportNeverPolled(result);
  // A response with tokens ends the sign-in, so later requests are not polls.
  const polls = result.polls.filter(({ step }) => step !== undefined);
  if (polls.length < 3) return reportFewPolls({ ...result, polls });
  const delay = assessDelay(polls[0]!);
  if (delay) return delay;
  const tookMs = getMaxWait(polls[0]!, polls.at(-1)!);
  const detail = `${polls.length} polls in ${formatSeconds(tookMs)} s; the interval is ${minIntervalSeconds} s.`;
  if (tookMs >= (polls.length - 1) * minIntervalSeconds * 1_000 - maxTotalDeviationMs) return pass(detail);
  return fail(detail, "Wait for `interval` seconds (5 if it is missing) before each poll.");
}

export const assessSlowDown: Assessor = (result) =>
  assessWait(result, 1, 1, "At slow_down add 5 s to the interval, and wait for that before the next poll.");

export const assessLastingSlowDown: Assessor = (result) =>
  assessSlowDown(result).result === "passed"
    ? assessWait(result, 2, 1, "Keep the longer interval until the end of the sign-in.")
    : skip("Not assessed unless slow-down.added passes.");

export const assessRepeatedSlowDown: Assessor = (result) =>
  assessLastingSlowDown(result).result === "passed"
    ? assessWait(result, 3, 2, "Add 5 s to the present interval at each slow_down, not to the first one.")
    : skip("Not assessed unless slow-down.for-good passes.");

/** Assesses the wait after the poll at this index. `slowDownCount` is the number of previous slow_down responses. */
function assessWait(result: ClientRunResult, index: number, slowDownCount: number, fix: string): Assessment {
  if (result.polls.length === 0) return reportNeverPolled(result);
  const waits = getWaits(result);
  const waitedMs = waits[index];
  if (waitedMs === undefined) return reportFewPolls(result);
  const delay = assessDelay(result.polls[index]!);
  if (delay) return delay;
  const leastMs = measurePollIntervalMs(waits) + slowDownCount * slowDownSeconds * 1_000;
  const detail = `${formatSeconds(waitedMs)} s between polls ${index + 1} and ${index + 2}; at least ${formatSeconds(leastMs)} s are due.`;
  return waitedMs >= leastMs - maxWaitDeviationMs ? pass(detail) : fail(detail, fix);
}

/** Measures the interval of the client before the first slow_down. An interval longer than requested is allowed. */
function measurePollIntervalMs([first = 0]: readonly number[]): number {
  // A busy machine can delay the first poll of a client with the requested interval.
  return Math.min(first, Math.max(minIntervalSeconds * 1_000, first - 2_000));
}

/** Reports that the script did not end because the client polled too little. Returns undefined if it ended. */
function reportMissingEnd(result: ClientRunResult, error: string): Assessment | undefined {
  if (result.polls.length === 0) return reportNeverPolled(result);
  if (result.endedAt !== undefined) return undefined;
  return skip(`The client did not poll often enough to get ${error}; ${describeState(result)}.`);
}

export const assessStop =
  (error: string): Assessor =>
  (result) => {
    const missingEnd = reportMissingEnd(result, error);
    if (missingEnd) return missingEnd;
    if (result.polls.some(({ step }) => step === undefined)) {
      const fix = `Stop at ${error}. Start again with a new device code only if the user requests it.`;
      return fail(`The client polled again with the same code after ${error}.`, fix);
    }
    return result.exitCode !== undefined || result.deviceRequests.length > 1
      ? pass(`The client did not poll again after ${error}.`)
      : skip(`The client has not polled again after ${error}, and is still running.`);
  };

export const assessExitCode =
  (error: string): Assessor =>
  (result) => {
    const missingEnd = reportMissingEnd(result, error);
    if (missingEnd) return missingEnd;
    const { exitCode } = result;
    if (exitCode === undefined) return skip("The client is still running.");
    if (exitCode !== 0) return pass(`The client ended with exit code ${exitCode}.`);
    const detail = `The client ended with exit code 0 after ${error}, as if it had signed in.`;
    return warn(detail, "Exit with another code, so that scripts notice.");
  };

export const assessContinuation =
  (event: string): Assessor =>
  (result) => {
    const { polls, exitCode } = result;
    if (polls.length === 0) return reportNeverPolled(result);
    const disturbedIndex = polls.findIndex(({ step = "" }) => ["reset", "html-503", "lost"].includes(step));
    if (disturbedIndex === -1) return skip(`The client polled too few times; ${describeState(result)}.`);
    const next = polls[disturbedIndex + 1];
    if (next) {
      const waitedMs = getMaxWait(polls[disturbedIndex]!, next);
      const detail = `The client polled again ${formatSeconds(waitedMs)} s after ${event}.`;
      if (waitedMs >= minIntervalSeconds * 750) return pass(detail);
      return warn(detail, "Wait for at least the interval; double it at each failure.");
    }
    if (exitCode === undefined) return skip(`The client has not polled again after ${event}, and is still running.`);
    const fix = "Wait for at least the interval, then poll again until the code expires.";
    return warn(`The client gave up after ${event} (exit code ${exitCode}).`, fix);
  };
