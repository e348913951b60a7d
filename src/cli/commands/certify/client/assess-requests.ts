import type { Assessment } from "./assessment.ts";
import type { OAuthRequest } from "./oauth-request.ts";
import type { ScenarioResult } from "./run-scenario.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

const neverRequested: Assessment = { result: "not_checked", detail: "The client requested no device code." };

/** Assesses a client that got a code and never polled. */
export const reportNeverPolled = (result: ScenarioResult): Assessment =>
  result.challenge === undefined
    ? neverRequested
    : { result: "not_checked", detail: `The client did not poll; ${describeState(result)}.` };

/** Formats `it ended with exit code 1`, or `it was still running`. */
export const describeState = ({ exitCode }: ScenarioResult): string =>
  exitCode === undefined ? "it was still running" : `it ended with exit code ${exitCode}`;

export function assessEncoding({ deviceRequests, polls }: ScenarioResult): Assessment {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return neverRequested;
  const fix = "Send the fields in the body of a POST with content-type: application/x-www-form-urlencoded.";
  const other = requests.find(({ method, encoding }) => method !== "POST" || encoding === "other");
  if (other) {
    const sent = other.contentType === "" ? "no content type" : other.contentType;
    const inQuery = Object.keys(other.query).length > 0 ? ", with fields in the query" : "";
    return { result: "failed", detail: `The client sent ${other.method} with ${sent}${inQuery}.`, fix };
  }
  if (requests.some(({ encoding }) => encoding === "json")) {
    return { result: "warning", detail: "The client sends JSON, which other servers reject.", fix };
  }
  return { result: "passed", detail: "All requests are form-encoded." };
}

export function assessFields({ deviceRequests, polls }: ScenarioResult): Assessment {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return neverRequested;
  if (requests.some(({ fields }) => fields === undefined)) {
    return { result: "not_checked", detail: "A body cannot be read." };
  }
  const problem = deviceRequests.map(findMissingClient).find(Boolean) ?? polls.map(findPollProblem).find(Boolean);
  if (problem !== undefined) {
    return {
      result: "failed",
      detail: problem,
      fix: `Poll with grant_type=${deviceGrant}, device_code and client_id.`,
    };
  }
  if (polls.length === 0) return { result: "not_checked", detail: "The client did not poll." };
  return { result: "passed", detail: "All requests have their fields." };
}

const findMissingClient = ({ fields, isAuthenticated }: OAuthRequest): string | undefined =>
  fields?.client_id === undefined && !isAuthenticated ? "A request has no client_id." : undefined;

function findPollProblem(poll: OAuthRequest): string | undefined {
  const { fields = {} } = poll;
  if (fields.grant_type !== deviceGrant) return `A poll has grant_type ${JSON.stringify(fields.grant_type ?? "")}.`;
  if (fields.device_code === undefined) return "A poll has no device_code.";
  return findMissingClient(poll);
}

export function assessShownCode(result: ScenarioResult): Assessment {
  const { challenge, output } = result;
  if (!challenge) return neverRequested;
  const stripSeparators = (text: string) => text.replaceAll(/[-\s]/g, "").toUpperCase();
  if (stripSeparators(output).includes(stripSeparators(challenge.userCode)))
    return { result: "passed", detail: "The code was shown." };
  return reportNotShown(result, "user code", "Print user_code on standard output or standard error.");
}

export function assessShownAddress(result: ScenarioResult): Assessment {
  const { challenge, output } = result;
  if (!challenge) return neverRequested;
  // Windows wrap long lines, and terminals need no scheme.
  const address = challenge.verificationUri.replace(/^https?:\/\//, "");
  if (output.replaceAll(/\s/g, "").includes(address)) return { result: "passed", detail: "The address was shown." };
  return reportNotShown(result, "verification address", "Print verification_uri on standard output or standard error.");
}

function reportNotShown(result: ScenarioResult, what: string, fix: string): Assessment {
  // A pipe buffers the output of a running program.
  if (result.exitCode === undefined && result.output === "") {
    return { result: "not_checked", detail: "The client has printed nothing yet, and was still running." };
  }
  return { result: "failed", detail: `The ${what} does not appear in what the client printed.`, fix };
}

export function assessDelivery(result: ScenarioResult): Assessment {
  const { hasTokens, polls, exitCode } = result;
  if (polls.length === 0) return reportNeverPolled(result);
  if (!hasTokens) return { result: "not_checked", detail: `No poll got the tokens; ${describeState(result)}.` };
  const laterPolls = polls.filter(({ step }) => step === undefined).length;
  if (laterPolls > 0) {
    const detail = "The client polled again after it had got the tokens.";
    return { result: "failed", detail, fix: "Stop polling at the first response with an access_token." };
  }
  if (exitCode === undefined) return { result: "not_checked", detail: "The client got the tokens, and still runs." };
  if (exitCode === 0) return { result: "passed", detail: "The client got the tokens, and ended with exit code 0." };
  const detail = `The client got the tokens, and ended with exit code ${exitCode}.`;
  return { result: "failed", detail, fix: "Accept the token response: access_token, token_type, expires_in, scope." };
}

export function assessSecrets(result: ScenarioResult): Assessment {
  if (!result.challenge) return neverRequested;
  if (result.exposedIn === undefined) {
    const detail = "The arguments of processes were not seen: the client did not poll, or the system hides them.";
    return { result: "not_checked", detail };
  }
  if (result.exposedIn === null) return { result: "passed", detail: "No process had a secret among its arguments." };
  const detail = `The device code or a token was an argument of ${JSON.stringify(result.exposedIn)}.`;
  return { result: "failed", detail, fix: "Pass secrets to other programs by standard input or a private file." };
}
