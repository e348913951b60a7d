import { redactText } from "../../api/secrets.ts";
import { isCertificateFailure, suggestsTlsServer, toTlsFailure } from "../../base/errors.ts";
import { lookupTable } from "../../base/object.ts";
import {
  InvalidArgumentsError,
  InvalidResponseError,
  MisroutedRequestError,
  MissingCredentialsError,
  NetworkError,
  ProxyError,
  ResponseTooLargeError,
  RetryAfterTooLongError,
  ServiceError,
} from "../../client/errors.ts";
import { formatFsError, formatSystemError, isFsError } from "../../files/disk.ts";
import { CommandFailedError, type FailureKind, getRemedy, PartialFailureError, UsageError } from "./failure.ts";
import type { SignalName } from "./host.ts";
import { formatServiceError, getCredentialHint, isOfOtherServer } from "./service-message.ts";
import { formatCommandLine } from "./shell-words.ts";

/** Meaning of each exit code (DECISIONS.md, L10). */
export const exitCodes = [
  { code: 0, meaning: "success, including an empty result and a dry run" },
  {
    code: 1,
    meaning: "failed: rejected by the service, declined, unexpected error, or outcome unknown (check before you retry)",
  },
  { code: 2, meaning: "usage error: the command line or a local input is invalid; nothing was sent" },
  {
    code: 3,
    meaning:
      "partial: a bulk job ended with failed or skipped rows; or drift: the emulator differs from a recorded service",
  },
  { code: 4, meaning: "credentials are missing, invalid, expired or insufficient" },
  { code: 5, meaning: "not found" },
  { code: 8, meaning: "still pending" },
  {
    code: 75,
    meaning:
      "temporary: network error (but no rejected certificate), 429, or 5xx to a repeatable request after all retries, or a timeout; retry (retryable under --json)",
  },
  { code: 129, meaning: "the terminal was closed (SIGHUP)" },
  { code: 130, meaning: "interrupted (Ctrl-C)" },
  { code: 143, meaning: "terminated" },
] as const;

export const exitCodeByFailure: Readonly<Record<FailureKind, number>> = {
  failed: 1,
  usage: 2,
  partial: 3,
  forbidden: 4,
  "not-found": 5,
  pending: 8,
  temporary: 75,
};

export const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const satisfies Record<SignalName, number>;

/** Failure as shown to users: its subject, its reason, and the next step. */
export interface ErrorExplanation {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly string[];
  readonly hint?: string | undefined;
  readonly next?: readonly string[] | undefined;
  readonly requestId?: string | undefined;
  readonly exitCode: number;
}

/** Reports whether the same command line can be run again. */
const isRetryable = ({ exitCode }: Pick<ErrorExplanation, "exitCode">): boolean =>
  exitCode === exitCodeByFailure.temporary;

/** Converts any thrown error to a message and an exit code. Only this function determines exit codes. */
export function explainError(error: unknown): ErrorExplanation {
  if (error instanceof PartialFailureError) {
    const cause = explainError(error.cause);
    const isRepeatable = error.completedSteps.length === 0 || error.repeatable;
    return {
      ...cause,
      details: [...(cause.details ?? []), ...error.completedSteps],
      hint: error.hint ?? cause.hint,
      next: error.next ?? cause.next,
      ...(isRetryable(cause) && !isRepeatable && { exitCode: exitCodeByFailure.failed }),
    };
  }
  const [kind, code, message, rest] = classifyError(error);
  return { code, message, ...rest, exitCode: exitCodeByFailure[kind] };
}

type Classification = readonly [
  kind: FailureKind,
  code: string,
  message: string,
  rest: Pick<ErrorExplanation, "details" | "hint" | "next" | "requestId">,
];

/** A document can have a problem in each of its rows. */
const maxUsageDetails = 100;

function classifyError(error: unknown): Classification {
  if (error instanceof UsageError) {
    const { message, details: all, hint, next } = error;
    const moreCount = all.length - maxUsageDetails;
    const details = moreCount > 0 ? [...all.slice(0, maxUsageDetails), `… and ${moreCount} more`] : all;
    return ["usage", "usage", message, { details, hint, next }];
  }
  if (error instanceof CommandFailedError) {
    const { kind, code, message, hint, next } = error;
    return [kind, code, message, { hint, next }];
  }
  if (error instanceof ServiceError) {
    const { status, problem } = error;
    const hint = error.outcomeUnknown
      ? [problem.hint, unknownOutcomeHint].filter(Boolean).join(" ")
      : (problem.hint ?? pollFailures[problem.code ?? ""]?.hint ?? getServiceHint(error));
    const details = problem.fields.length > 1 ? problem.fields : [];
    const requestId = error.headers["x-request-id"];
    const code = problem.code ?? `http_${status}`;
    return [getFailureKind(error), code, formatServiceError(error), { details, hint, requestId }];
  }
  if (error instanceof ResponseTooLargeError) {
    const hint = error.adjustable
      ? "To allow a larger response, use --max-response."
      : "Check that the base URL belongs to the service.";
    const outcomeNote = error.outcomeUnknown ? "The request may have taken effect. " : "";
    return ["failed", "response_too_large", error.message, { hint: outcomeNote + hint }];
  }
  if (error instanceof ProxyError)
    return [getProxyFailureKind(error), "proxy", error.message, { hint: getProxyHint(error) }];
  if (error instanceof NetworkError) {
    const kind = error.outcomeUnknown || isCertificateFailure(error.code) ? "failed" : "temporary";
    return [kind, "network", error.message, { hint: getNetworkHint(error) }];
  }
  if (error instanceof RetryAfterTooLongError) {
    const hint = "Try again later, or allow a longer wait with --max-wait.";
    return ["temporary", "wait_too_long", error.message, { hint }];
  }
  if (error instanceof MissingCredentialsError)
    return ["forbidden", "no_credentials", error.message, { hint: credentialHints[error.needs] }];
  if (error instanceof InvalidArgumentsError) {
    const details = error.problems.map((problem) => `${[problem.in, ...problem.path].join(".")}: ${problem.message}`);
    return ["usage", "invalid_input", "The input is invalid.", { details }];
  }
  if (error instanceof MisroutedRequestError) {
    const hint = "A proxy or the path of the base URL may change the request path. Check SVC_BASE_URL.";
    return ["failed", "misrouted", error.message, { hint }];
  }
  if (error instanceof InvalidResponseError) {
    return ["failed", "unreadable_response", error.message, { hint: otherServerHint }];
  }
  if (isFsError(error)) {
    const { syscall = "", path = "a file" } = error;
    // The call of a process contains its path.
    const call = syscall.split(" ")[0]!;
    // An address is listened on.
    const action = call === "listen" ? call : `${actionsByCall[call] ?? "use"} ${path}`;
    const message = `Failed to ${action}: ${formatFsError(error)}.`;
    return ["failed", "system", message, { hint: getRemedy(error) }];
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = "To print the stack trace, use --debug.";
  return ["failed", "unexpected", `Unexpected error: ${message}`, { hint }];
}

/** What a command tried to do with a file, by the system call that failed. */
const actionsByCall = lookupTable<string>(
  Object.fromEntries(
    Object.entries({
      open: ["open"],
      read: ["read", "readlink", "scandir", "stat", "lstat", "fstat", "realpath", "access"],
      write: ["write", "fsync", "fdatasync", "datasync", "ftruncate"],
      create: ["mkdir", "mkdtemp", "symlink", "link"],
      remove: ["unlink", "rmdir", "rm"],
      rename: ["rename"],
      change: ["chmod", "fchmod"],
      run: ["spawn"],
      watch: ["watch"],
    }).flatMap(([action, calls]) => calls.map((call) => [call, action])),
  ),
);

/** Explains an interrupted run. The run prints a message only if it completed some work. */
export const explainInterruption = ({ completedSteps, hint, next }: PartialFailureError, name: SignalName) => ({
  code: "interrupted",
  message: "Interrupted.",
  details: completedSteps,
  hint,
  next,
  exitCode: signalCodes[name],
});

/** Failures of polling for tokens by any status, because servers differ (RFC 8628, 3.5; DECISIONS.md, P1). */
const pollFailures = lookupTable<{ readonly kind: FailureKind; readonly hint?: string }>({
  authorization_pending: { kind: "pending", hint: "The user code is not approved yet. Poll again after the interval." },
  slow_down: { kind: "pending", hint: "The request was too early. Increase the interval by 5 s." },
  access_denied: { kind: "forbidden" },
  expired_token: { kind: "forbidden" },
});

const otherServerHint = "Check that the base URL belongs to the service, not to a web page or a proxy.";

const unknownOutcomeHint = "The request may have taken effect. Check before you retry.";

/** Reports whether a signed URL was rejected. Such URLs contain no credentials of the caller. */
const isOfStorage = ({ operation }: ServiceError): boolean => operation.startsWith("storage.");

function getFailureKind(error: ServiceError): FailureKind {
  const { status, problem, outcomeUnknown } = error;
  const pollFailure = pollFailures[problem.code ?? ""];
  if (pollFailure) return pollFailure.kind;
  if (outcomeUnknown) return "failed";
  if (status === 401 || status === 403) return isOfStorage(error) ? "failed" : "forbidden";
  if (status === 404) return "not-found";
  if (status === 429 || status === 408 || (status >= 500 && status !== 501 && status !== 508)) return "temporary";
  return "failed";
}

const untrustedHint =
  "Set NODE_EXTRA_CA_CERTS to the file of its certificate, or of the certificate of a proxy that inspects traffic.";

const tlsHints = lookupTable<string>({
  "self-signed": untrustedHint,
  "unknown-authority": untrustedHint,
  expired: "Renew the certificate of the service, or correct the clock of this machine.",
  "other-host": "Use a host of the certificate in the address.",
});

/** Finds the setting that prevents a network failure. */
export const findSettingHint = (code: string): string | undefined =>
  code === "ETIMEDOUT" ? "Try again later, or allow a longer time with --timeout." : tlsHints[toTlsFailure(code) ?? ""];

function getNetworkHint({ code, origin, outcomeUnknown }: NetworkError): string {
  if (outcomeUnknown) return unknownOutcomeHint;
  const hint = suggestsTlsServer(origin, code) ? "Check the address (https:// for TLS)" : "Check the address";
  return findSettingHint(code) ?? `${hint}, and that the service is running.`;
}

const getProxyFailureKind = ({ status }: ProxyError): FailureKind =>
  status === 407 ? "forbidden" : status !== undefined && status < 500 ? "failed" : "temporary";

function getProxyHint({ status }: ProxyError): string {
  if (status === 407) return "Add user and password to the proxy variable: http://user:password@proxy.example:3128.";
  if (status === undefined) return "Check HTTP_PROXY and HTTPS_PROXY. To exclude a host, add it to NO_PROXY.";
  return "To exclude the host, add it to NO_PROXY.";
}

const credentialHints: Readonly<Record<MissingCredentialsError["needs"], string>> = {
  "api-key": "Set SVC_CLIENT_ID and SVC_CLIENT_SECRET, or choose a profile with both.",
  basic: "Set SVC_BASIC_AUTH to user:password.",
  bearer: "Sign in with svc auth device-login, or set SVC_TOKEN to an access token.",
  "control-token":
    "Set SVC_EMULATOR_TOKEN, or emulator_token of the profile, to a token from the operator of the emulator. On its machine, run the command in the folder of its state.",
};

function getServiceHint(error: ServiceError): string | undefined {
  const { status, headers } = error;
  if (isOfStorage(error) && (status === 401 || status === 403))
    return "The signed URL has expired or was changed. Run the command again for a new URL.";
  if (isOfStorage(error) && status === 404)
    return "No file is stored there: its upload was not completed, or it was deleted.";
  if (status === 401)
    return getCredentialHint(error) ?? "Check SVC_CLIENT_ID and SVC_CLIENT_SECRET, SVC_CLUSTER_KEY or SVC_TOKEN.";
  if (status < 400) {
    return isOfStorage(error)
      ? "Redirects of signed URLs are not followed."
      : "Redirects are not followed. If the service has moved, change the base URL.";
  }
  if (status === 413) return "The request is larger than the service, or a proxy in front of it, accepts.";
  if (status === 429) return "Too many requests. Try again later, or use --retries and --max-wait.";
  if (status < 500 && isOfOtherServer(error)) return `The response is not JSON. ${otherServerHint}`;
  if (status === 403) return "The credentials are valid, but have no permission for this request.";
  // An emulator whose state was replaced during the request sends Retry-After.
  if (headers["x-svc-unchanged"] !== undefined && headers["retry-after"] === undefined)
    return "The emulator cannot store its state, and changed nothing. Free space on its disk, or fix the permissions of its files or database. Its log has the reason.";
  if (status >= 500) return "The service has a problem. Try again later. To print each attempt, use --verbose.";
  return undefined;
}

/** Formats an error for users: one item per line, the most helpful last. */
export function formatExplanation({ message, details = [], next, hint, requestId }: ErrorExplanation): string[] {
  return [
    `error: ${message}`,
    ...details.map((detail) => `  - ${detail}`),
    ...(requestId ? [`  request: ${requestId}`] : []),
    ...(hint ? [`  ${hint}`] : []),
    ...(next ? [`  try: ${formatCommandLine(next)}`] : []),
  ];
}

export const toExplanationJson = (explanation: ErrorExplanation): object => {
  const { code, message, details = [], hint = null, next, requestId = null, exitCode } = explanation;
  return {
    error: {
      code,
      message,
      ...(details.length > 0 ? { details } : {}),
      hint,
      requestId,
      retryable: isRetryable(explanation),
      exitCode,
      next: next ? [{ argv: ["svc", ...next] }] : [],
    },
  };
};

/** Redacts secrets that the failed service may have echoed. */
export const redactExplanation = (explanation: ErrorExplanation): ErrorExplanation => ({
  ...explanation,
  message: redactText(explanation.message),
  details: (explanation.details ?? []).map((detail) => redactText(detail)),
  hint: explanation.hint && redactText(explanation.hint),
});

/** Formats the location where an error was thrown. No line begins with content of the message. */
export function formatStack({ name, message, stack = "" }: Error): string[] {
  const head = `${name}: ${message}`;
  const rest = stack.startsWith(head) ? stack.slice(head.length) : stack;
  return [redactText(head), ...rest.split("\n").filter((line) => /^\s+at /.test(line))];
}

export function createStdoutError(cause: NodeJS.ErrnoException): CommandFailedError {
  const message = `Failed to write to standard output: ${formatSystemError(cause)}.`;
  const hint = "The output is lost, and the command may have taken effect. Check before you run it again.";
  return new CommandFailedError("failed", "output_lost", message, { hint, cause });
}
