import { lookupTable } from "../../../../base/object.ts";
import { type CheckFinding, failed, notChecked, passed, warning } from "../check.ts";
import type { ClientRunResult } from "./run.ts";
import {
  checkedIntervalSeconds,
  minIntervalSeconds,
  type OAuthRequest,
  type PollStep,
  slowDownSeconds,
} from "./scripted-server.ts";

type Assessor = (result: ClientRunResult) => CheckFinding;

const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

const notRequested = notChecked("The client requested no device code.");

const describeState = ({ exitCode }: ClientRunResult): string =>
  exitCode === undefined ? "it was still running" : `it ended with exit code ${exitCode}`;

/** Assesses only a client that has polled. */
const whenPolled =
  (assess: Assessor): Assessor =>
  (result) => {
    if (result.polls.length > 0) return assess(result);
    return result.challenge === undefined
      ? notRequested
      : notChecked(`The client did not poll; ${describeState(result)}.`);
  };

function assessEncoding({ deviceRequests, polls }: ClientRunResult): CheckFinding {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return notRequested;
  const fix = "Send the fields in the body of a POST with content-type: application/x-www-form-urlencoded.";
  const invalid = requests.find(({ method, encoding }) => method !== "POST" || encoding === "other");
  if (invalid) {
    const inQuery = Object.keys(invalid.query).length > 0 ? ", with fields in the query" : "";
    return failed(`The client sent ${invalid.method} with ${invalid.contentType || "no content type"}${inQuery}.`, fix);
  }
  return requests.some(({ encoding }) => encoding === "json")
    ? warning("The client sends JSON, which other servers reject.", fix)
    : passed("All requests are form-encoded.");
}

function assessFields({ deviceRequests, polls }: ClientRunResult): CheckFinding {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return notRequested;
  if (requests.some(({ fields }) => fields === undefined)) return notChecked("A body cannot be read.");
  const problem = deviceRequests.map(findMissingClient).find(Boolean) ?? polls.map(findPollProblem).find(Boolean);
  if (problem) return failed(problem, `Poll with grant_type=${deviceGrantType}, device_code and client_id.`);
  return polls.length === 0
    ? notChecked("The client did not poll.")
    : passed("All requests contain the required fields.");
}

const findMissingClient = ({ fields, isAuthenticated }: OAuthRequest): string | undefined =>
  fields?.client_id === undefined && !isAuthenticated ? "A request has no client_id." : undefined;

function findPollProblem(poll: OAuthRequest): string | undefined {
  const { fields = {} } = poll;
  if (fields.grant_type !== deviceGrantType) return `A poll has grant_type ${JSON.stringify(fields.grant_type ?? "")}.`;
  if (fields.device_code === undefined) return "A poll has no device_code.";
  return findMissingClient(poll);
}

function assessShownCode(result: ClientRunResult): CheckFinding {
  const stripSeparators = (text: string) => text.replaceAll(/[-\s]/g, "").toUpperCase();
  const code = stripSeparators(result.challenge?.userCode ?? "");
  return assessOutput(result, stripSeparators(result.output).includes(code), "user code", "user_code");
}

function assessShownAddress(result: ClientRunResult): CheckFinding {
  // Clients may omit the scheme, and terminals wrap long lines.
  const address = result.challenge?.verificationUri.replace(/^https?:\/\//, "") ?? "";
  const isShown = result.output.replaceAll(/\s/g, "").includes(address);
  return assessOutput(result, isShown, "verification address", "verification_uri");
}

function assessOutput({ challenge, exitCode, output }: ClientRunResult, isShown: boolean, name: string, field: string) {
  if (!challenge) return notRequested;
  if (isShown) return passed(`The ${name} was shown.`);
  // A pipe can buffer the output of a running program.
  if (exitCode === undefined && output === "")
    return notChecked("The client has printed nothing yet, and was still running.");
  const fix = `Print ${field} on standard output or standard error.`;
  return failed(`The ${name} does not appear in what the client printed.`, fix);
}

function assessTokens(result: ClientRunResult): CheckFinding {
  const { challenge, hasTokens, polls, exitCode } = result;
  if (!challenge) return notRequested;
  if (!hasTokens && exitCode === undefined) return notChecked("No poll received the tokens; it was still running.");
  if (!hasTokens) {
    const fix = "Poll until a response has an access_token, or a final error.";
    return failed(`The client ended with exit code ${exitCode} before it received the tokens.`, fix);
  }
  if (polls.some(({ step }) => step === undefined)) {
    const fix = "Stop polling at the first response with an access_token.";
    return failed("The client polled again after it had received the tokens.", fix);
  }
  if (exitCode === undefined) return notChecked("The client received the tokens, and is still running.");
  const detail = `The client received the tokens, and ended with exit code ${exitCode}.`;
  if (exitCode === 0) return passed(detail);
  return failed(detail, "Accept the token response: access_token, token_type, expires_in, scope.");
}

function assessSecrets({ challenge, exposedIn }: ClientRunResult): CheckFinding {
  if (!challenge) return notRequested;
  if (exposedIn === undefined) {
    return notChecked("The arguments of processes were not seen: the client did not poll, or the system hides them.");
  }
  if (exposedIn === null) return passed("No process was seen with a secret among its arguments.");
  const detail = `The device code or a token was an argument of ${JSON.stringify(exposedIn)}.`;
  return failed(detail, "Pass secrets to other programs by standard input or a private file.");
}

/** A client with a fixed timer can be late once and early the next time. The differences cancel out over all polls. */
const maxTotalDeviationMs = 900;
/** Tolerance for one wait of several seconds. */
const maxWaitDeviationMs = 750;
const formatSeconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** Time between the arrivals of two requests in milliseconds, as observed, and its bounds on a busy machine. */
const measureWait = (first: OAuthRequest, second: OAuthRequest) => ({
  ms: second.at - first.at,
  minMs: second.earliestAt - first.at,
  maxMs: second.at - first.earliestAt,
});

/** Passes a wait that was certainly long enough, and fails one that was certainly too short. */
function assessWait({ minMs, maxMs }: ReturnType<typeof measureWait>, leastMs: number, short: CheckFinding) {
  if (minMs >= leastMs) return passed(short.detail);
  if (maxMs < leastMs) return short;
  return notChecked(
    `This machine was busy: a wait took between ${formatSeconds(minMs)} and ${formatSeconds(maxMs)} s.`,
  );
}

const reportFewPolls = (result: ClientRunResult, { length } = result.polls): CheckFinding =>
  notChecked(`The client polled ${length} times; ${describeState(result)}.`);

function assessInterval(result: ClientRunResult): CheckFinding {
  // A response with tokens ends the sign-in, so later requests are not polls.
  const polls = result.polls.filter(({ step }) => step !== undefined);
  if (polls.length < 3) return reportFewPolls(result, polls);
  const wait = measureWait(polls[0]!, polls.at(-1)!);
  const detail = `${polls.length} polls in ${formatSeconds(wait.ms)} s; the interval is ${checkedIntervalSeconds} s.`;
  const leastMs = (polls.length - 1) * checkedIntervalSeconds * 1_000 - maxTotalDeviationMs;
  return assessWait(
    wait,
    leastMs,
    failed(detail, "Wait for `interval` seconds (5 if it is missing) before each poll."),
  );
}

/**
 * Each rule is assessed only if the client follows the previous ones. `poll` is the index of the poll before the
 * assessed wait, and `slowDowns` the number of slow_down responses until then.
 */
const slowDownRules = [
  {
    ...{ id: "slow-down.added", summary: "Adds 5 s at slow_down", poll: 1, slowDowns: 1 },
    fix: "At slow_down add 5 s to the interval, and wait for that before the next poll.",
  },
  {
    ...{ id: "slow-down.for-good", summary: "Keeps the longer interval for all later polls", poll: 2, slowDowns: 1 },
    fix: "Keep the longer interval until the end of the sign-in.",
  },
  {
    ...{ id: "slow-down.each", summary: "Adds another 5 s at each slow_down", poll: 3, slowDowns: 2 },
    fix: "Add 5 s to the present interval at each slow_down, not to the first one.",
  },
];

function assessSlowDown(result: ClientRunResult, index: number): CheckFinding {
  if (index > 0 && assessSlowDown(result, index - 1).result !== "passed")
    return notChecked(`Not assessed unless ${slowDownRules[index - 1]!.id} passes.`);
  const { poll, slowDowns, fix } = slowDownRules[index]!;
  const waits = result.polls.slice(1).map((next, i) => measureWait(result.polls[i]!, next));
  const wait = waits[poll];
  if (wait === undefined) {
    const isLast = result.polls.length === poll + 1 && result.polls[poll]!.step === "slow_down";
    if (!isLast || result.exitCode === undefined) return reportFewPolls(result);
    return failed(`The client gave up after slow_down (exit code ${result.exitCode}).`, fix);
  }
  const leastMs = measurePollIntervalMs(waits[0]!.ms) + slowDowns * slowDownSeconds * 1_000;
  const detail = `${formatSeconds(wait.ms)} s between polls ${poll + 1} and ${poll + 2}; at least ${formatSeconds(leastMs)} s are due.`;
  return assessWait(wait, leastMs - maxWaitDeviationMs, failed(detail, fix));
}

/**
 * Measures the interval of the client before the first slow_down. An interval longer than requested is allowed. A busy
 * machine can delay the first poll of a client with the requested interval.
 */
const measurePollIntervalMs = (firstWaitMs: number): number =>
  Math.min(firstWaitMs, Math.max(minIntervalSeconds * 1_000, firstWaitMs - 2_000));

/** Assesses only a client that has polled until the script ended with this error, and that got it. */
const whenEnded = (error: string, assess: Assessor): Assessor =>
  whenPolled((result) => {
    const { endedAt, endError } = result;
    if (endedAt === undefined)
      return notChecked(`The client did not poll often enough to get ${error}; ${describeState(result)}.`);
    return endError === error ? assess(result) : notChecked(`The last poll got ${endError}, not ${error}.`);
  });

const assessStop = (error: string): Assessor =>
  whenEnded(error, ({ polls, exitCode, deviceRequests }) => {
    if (polls.some(({ step }) => step === undefined)) {
      const fix = `Stop at ${error}. Start again with a new device code only if the user requests it.`;
      return failed(`The client polled again with the same code after ${error}.`, fix);
    }
    return exitCode !== undefined || deviceRequests.length > 1
      ? passed(`The client did not poll again after ${error}.`)
      : notChecked(`The client has not polled again after ${error}, and is still running.`);
  });

const assessExitCode = (error: string): Assessor =>
  whenEnded(error, ({ exitCode }) => {
    if (exitCode === undefined) return notChecked("The client is still running.");
    if (exitCode !== 0) return passed(`The client ended with exit code ${exitCode}.`);
    const detail = `The client ended with exit code 0 after ${error}, as if it had signed in.`;
    return warning(detail, "Exit with another code, so that scripts notice.");
  });

const disturbances: readonly (PollStep | undefined)[] = ["reset", "html-503", "lost"];

const assessContinuation = (event: string): Assessor =>
  whenPolled((result) => {
    const { polls, exitCode } = result;
    const disturbedIndex = polls.findIndex(({ step }) => disturbances.includes(step));
    if (disturbedIndex === -1) return notChecked(`The client polled too few times; ${describeState(result)}.`);
    const next = polls[disturbedIndex + 1];
    if (next) {
      const wait = measureWait(polls[disturbedIndex]!, next);
      const detail = `The client polled again ${formatSeconds(wait.ms)} s after ${event}.`;
      const short = warning(detail, "Wait for at least the interval; double it at each failure.");
      return assessWait(wait, minIntervalSeconds * 750, short);
    }
    if (exitCode === undefined)
      return notChecked(`The client has not polled again after ${event}, and is still running.`);
    const fix = "Wait for at least the interval, then poll again until the code expires.";
    return warning(`The client gave up after ${event} (exit code ${exitCode}).`, fix);
  });

/** The ID is stable for scripts. */
type CheckRow = readonly [id: string, summary: string, basis: string, assess: Assessor];

const encodingBasis = "RFC 8628, 3.1 and 3.4; the routing service also accepts JSON";
const secretsBasis = "RFC 8628, 5.2; every user of a machine can read arguments";
const adviceBasis = "recommended by svc; not required by RFC 8628";

const createEndChecks = (scenario: string, error: string): readonly CheckRow[] => [
  [`${scenario}.stops`, `Stops polling at ${error}`, "RFC 8628, 3.5", assessStop(error)],
  [`${scenario}.exit-code`, `Exits with a non-zero code at ${error}`, adviceBasis, assessExitCode(error)],
];

const createDisturbanceChecks = (scenario: string, event: string): readonly CheckRow[] => [
  [`${scenario}.continues`, `Polls again after ${event}`, adviceBasis, assessContinuation(event)],
];

const checksByScenario = lookupTable<readonly CheckRow[]>({
  approval: [
    ["request.encoding", "Sends POST requests with application/x-www-form-urlencoded", encodingBasis, assessEncoding],
    ["request.fields", "Sends client_id, grant_type and device_code", "RFC 8628, 3.1 and 3.4", assessFields],
    ["shown.code", "Shows the user code", "RFC 8628, 3.3", assessShownCode],
    ["shown.address", "Shows the verification address", "RFC 8628, 3.3", assessShownAddress],
    ["poll.interval", "Polls no faster than the interval", "RFC 8628, 3.2 and 3.5", whenPolled(assessInterval)],
    ["approval.tokens", "Accepts the tokens, and stops polling", "RFC 8628, 3.5", assessTokens],
    ["secrets.arguments", "Passes no device code or token as a process argument", secretsBasis, assessSecrets],
  ],
  "slow-down": slowDownRules.map(({ id, summary }, i) => {
    return [id, summary, "RFC 8628, 3.5", whenPolled((result) => assessSlowDown(result, i))];
  }),
  expired: createEndChecks("expired", "expired_token"),
  denied: createEndChecks("denied", "access_denied"),
  reset: createDisturbanceChecks("reset", "a connection reset"),
  "html-503": createDisturbanceChecks("html-503", "a 503 with an HTML page"),
  "lost-response": createDisturbanceChecks("lost-response", "a truncated response"),
});

/** All checks, in the order of the report. */
export const clientChecks = Object.entries(checksByScenario).flatMap(([scenario, rows]) =>
  rows.map(([id, summary, basis, assess]) => ({ id, scenario, summary, basis, assess })),
);
