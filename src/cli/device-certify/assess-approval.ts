import { describeState, notAsked, notPolled } from "./assess-requests.ts";
import type { Assessment } from "./assessment.ts";
import type { ScenarioResult } from "./run-scenario.ts";

export function assessShownCode(result: ScenarioResult): Assessment {
  const { challenge, output } = result;
  if (!challenge) return notAsked;
  const bare = (text: string) => text.replaceAll(/[-\s]/g, "").toUpperCase();
  if (bare(output).includes(bare(challenge.userCode))) return { verdict: "passed", detail: "The code was shown." };
  return notShown(result, "user code", "Print user_code on standard output or standard error.");
}

export function assessShownAddress(result: ScenarioResult): Assessment {
  const { challenge, output } = result;
  if (!challenge) return notAsked;
  // Windows break long lines, and terminals need no scheme.
  const address = challenge.verificationUri.replace(/^https?:\/\//, "");
  if (output.replaceAll(/\s/g, "").includes(address)) return { verdict: "passed", detail: "The address was shown." };
  return notShown(result, "verification address", "Print verification_uri on standard output or standard error.");
}

function notShown(result: ScenarioResult, what: string, fix: string): Assessment {
  // A pipe holds back what a running program has printed.
  if (result.exitCode === undefined && result.output === "") {
    return { verdict: "not_checked", detail: "The client has printed nothing yet, and was still running." };
  }
  return { verdict: "failed", detail: `The ${what} does not appear in what the client printed.`, fix };
}

export function assessDelivery(result: ScenarioResult): Assessment {
  const { hasTokens, polls, exitCode } = result;
  if (polls.length === 0) return notPolled(result);
  if (!hasTokens) return { verdict: "not_checked", detail: `No poll got the tokens; ${describeState(result)}.` };
  const later = polls.filter(({ step }) => step === undefined).length;
  if (later > 0) {
    const detail = "The client polled again after it had got the tokens.";
    return { verdict: "failed", detail, fix: "Stop polling at the first response with an access_token." };
  }
  if (exitCode === undefined) return { verdict: "not_checked", detail: "The client got the tokens, and still runs." };
  if (exitCode === 0) return { verdict: "passed", detail: "The client got the tokens, and ended with exit code 0." };
  const detail = `The client got the tokens, and ended with exit code ${exitCode}.`;
  return { verdict: "failed", detail, fix: "Accept the token response: access_token, token_type, expires_in, scope." };
}

export function assessSecrets(result: ScenarioResult): Assessment {
  if (!result.challenge) return notAsked;
  if (result.exposedIn === undefined) {
    const detail = "The arguments of processes were not seen: the client did not poll, or the system hides them.";
    return { verdict: "not_checked", detail };
  }
  if (result.exposedIn === null) return { verdict: "passed", detail: "No process had a secret among its arguments." };
  const detail = `The device code or a token was an argument of ${JSON.stringify(result.exposedIn)}.`;
  return { verdict: "failed", detail, fix: "Pass secrets to other programs by standard input or a private file." };
}
