import type { Assessment } from "./assessment.ts";
import type { OAuthRequest } from "./oauth-request.ts";
import type { ScenarioResult } from "./run-scenario.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

export const notAsked: Assessment = { verdict: "not_checked", detail: "The client requested no device code." };

/** Of the client that got a code and never polled. */
export const notPolled = (result: ScenarioResult): Assessment =>
  result.challenge === undefined
    ? notAsked
    : { verdict: "not_checked", detail: `The client did not poll; ${describeState(result)}.` };

/** `it ended with exit code 1`, or `it was still running`. */
export const describeState = ({ exitCode }: ScenarioResult): string =>
  exitCode === undefined ? "it was still running" : `it ended with exit code ${exitCode}`;

export function assessEncoding({ deviceRequests, polls }: ScenarioResult): Assessment {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return notAsked;
  const fix = "Send the fields in the body of a POST with content-type: application/x-www-form-urlencoded.";
  const other = requests.find(({ method, encoding }) => method !== "POST" || encoding === "other");
  if (other) {
    const sent = other.contentType === "" ? "no content type" : other.contentType;
    const inQuery = Object.keys(other.query).length > 0 ? ", with fields in the query" : "";
    return { verdict: "failed", detail: `The client sent ${other.method} with ${sent}${inQuery}.`, fix };
  }
  if (requests.some(({ encoding }) => encoding === "json")) {
    return { verdict: "warning", detail: "The client sends JSON, which other servers reject.", fix };
  }
  return { verdict: "passed", detail: "All requests are form-encoded." };
}

export function assessFields({ deviceRequests, polls }: ScenarioResult): Assessment {
  const requests = [...deviceRequests, ...polls];
  if (requests.length === 0) return notAsked;
  if (requests.some(({ fields }) => fields === undefined)) {
    return { verdict: "not_checked", detail: "A body cannot be read." };
  }
  const problem = deviceRequests.map(missingClient).find(Boolean) ?? polls.map(problemOfPoll).find(Boolean);
  if (problem !== undefined) {
    return {
      verdict: "failed",
      detail: problem,
      fix: `Poll with grant_type=${deviceGrant}, device_code and client_id.`,
    };
  }
  if (polls.length === 0) return { verdict: "not_checked", detail: "The client did not poll." };
  return { verdict: "passed", detail: "All requests have their fields." };
}

const missingClient = ({ fields, isAuthenticated }: OAuthRequest): string | undefined =>
  fields?.client_id === undefined && !isAuthenticated ? "A request has no client_id." : undefined;

function problemOfPoll(poll: OAuthRequest): string | undefined {
  const { fields = {} } = poll;
  if (fields.grant_type !== deviceGrant) return `A poll has grant_type ${JSON.stringify(fields.grant_type ?? "")}.`;
  if (fields.device_code === undefined) return "A poll has no device_code.";
  return missingClient(poll);
}
