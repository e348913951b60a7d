import { formatTime } from "./limits.ts";
import type { Problem, InvalidArgumentsError as PublishedArgumentsError } from "./published.d.ts";

/**
 * Thrown when the service rejects the request with an error status. The message is meant for test output:
 * `contracts.status: 404 Not found. (GET /api/v2.1/public/contracts/T-9/status)`.
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  declare readonly operation: string;
  declare readonly method: string;
  /** Path without a query and without secrets. */
  declare readonly path: string;
  declare readonly status: number;
  declare readonly problem: Problem;
  declare readonly body: unknown;
  declare readonly headers: Readonly<Record<string, string>>;
  /** True if the service may have processed the request, so that sending it again could repeat its effect. */
  declare readonly outcomeUnknown: boolean;

  constructor(rejection: Omit<ServiceError, keyof Error>) {
    const { operation, method, path, status, problem } = rejection;
    super(`${operation}: ${status} ${problem.message} (${method} ${path})`);
    Object.assign(this, rejection);
  }
}

/** Creates an error handler that returns `value` if the object does not exist, and throws any other error. */
export const replaceMissing =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if (error instanceof ServiceError && error.status === 404) return value;
    throw error;
  };

export const isUnauthorized = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.status === 401;

/**
 * Reports whether the service may have processed a request that received this response. 501 and 508 mean that it did
 * not.
 */
export const isOutcomeUnknown = (status: number, headers: Readonly<Record<string, string>>): boolean =>
  status >= 500 && status !== 501 && status !== 508 && !noEffectHeaders.some((name) => name in headers);

/**
 * Headers with which an emulator reports that the request had no effect, because it could not be stored or because
 * another process is the leader.
 */
const noEffectHeaders = ["x-svc-unchanged", "x-svc-not-leading"];

/** Thrown when no complete response arrives: connection refused, timeout, reset, or a truncated response. */
export class NetworkError extends Error {
  override readonly name: string = "NetworkError";
  /** Origin of the request, without path or credentials. */
  readonly origin: string;
  /** Error code: `ECONNREFUSED`, `UND_ERR_HEADERS_TIMEOUT`, … */
  readonly code: string;
  /** True if the service may have processed the request, so that sending it again could repeat its effect. */
  readonly outcomeUnknown: boolean;

  constructor(origin: string, code: string, message: string, cause: unknown, outcomeUnknown = false) {
    super(message, { cause });
    this.origin = origin;
    this.code = code;
    this.outcomeUnknown = outcomeUnknown;
  }
}

/** Thrown when the response is too large: an endless body, or too many headers. Nothing was stored. */
export class ResponseTooLargeError extends NetworkError {
  override readonly name = "ResponseTooLargeError";
  readonly adjustable: boolean;

  constructor(origin: string, message: string, cause: unknown, outcomeUnknown: boolean, adjustable: boolean) {
    super(origin, "EMSGSIZE", message, cause, outcomeUnknown);
    this.adjustable = adjustable;
  }
}

/** Thrown when the proxy is unreachable or rejects the request. The service has not received the request. */
export class ProxyError extends NetworkError {
  override readonly name = "ProxyError";
  readonly status: number | undefined;

  constructor(proxy: string, code: string, message: string, cause: unknown, status?: number) {
    super(proxy, code, message, cause);
    this.status = status;
  }
}

/** Thrown when the service requests a longer wait than the caller allows. */
export class RetryAfterTooLongError extends Error {
  override readonly name = "RetryAfterTooLongError";
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number, maxWaitMs: number) {
    super(`The service requests a wait of ${formatTime(retryAfterMs)}, but the maximum is ${formatTime(maxWaitMs)}.`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Thrown when the caller's arguments do not match the declaration. No request was sent. */
export class InvalidArgumentsError extends Error {
  override readonly name = "InvalidArgumentsError";
  readonly problems: readonly ArgumentProblem[];

  constructor(operation: string, problems: readonly ArgumentProblem[]) {
    super(
      `${operation}: ${problems.map((problem) => `${problem.path.join(".") || problem.in}: ${problem.message}`).join("; ")}`,
    );
    this.problems = problems;
  }
}

export type ArgumentProblem = PublishedArgumentsError["problems"][number] & { readonly rule?: string };

/** Thrown when the credentials that the operation needs are missing. No request was sent. */
export class MissingCredentialsError extends Error {
  override readonly name = "MissingCredentialsError";
  readonly needs: "api-key" | "basic" | "bearer" | "control-token";

  /** `lacks` names the missing half. */
  constructor(needs: MissingCredentialsError["needs"], lacks?: string) {
    super(`This request requires ${needs} credentials${lacks === undefined ? "." : `: the ${lacks} is missing.`}`);
    this.needs = needs;
  }
}

/** Thrown when the body of a success does not match the declaration: HTML, broken JSON. */
export class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Thrown when the routing service matches a declared call to its catch-all, which means that the path is misspelled
 * (DECISIONS.md, R2).
 */
export class MisroutedRequestError extends Error {
  override readonly name = "MisroutedRequestError";
  readonly sent: string;
  readonly declared: string;

  constructor(sent: string, declaredPath: string) {
    super(`The routing service did not recognize ${sent} and forwarded it. The declared path is ${declaredPath}.`);
    this.sent = sent;
    this.declared = declaredPath;
  }
}

const credentialOptions: Readonly<Record<MissingCredentialsError["needs"], string>> = {
  "api-key": "credentials.clientId and credentials.clientSecret",
  basic: "credentials.basic",
  bearer: "credentials.bearer",
  "control-token": "credentials.controlToken",
};

/**
 * Adds the operation to an error, and the option of a program that can help. Test runners print only the message and
 * the stack. A ServiceError already names its operation. Commands name their own call and have flags.
 */
export function addOperationToError(operation: string, error: unknown): unknown {
  if (!isNameless(error)) return error;
  const advice = getAdvice(error);
  const message = `${operation}: ${error.message}${advice === undefined ? "" : ` ${advice}`}`;
  // The captured stack starts with the previous message.
  error.stack = error.stack?.replace(error.message, () => message) ?? "";
  error.message = message;
  return error;
}

/** Converts the errors of a stream, which can fail in the middle. */
export async function* mapStreamErrors<T>(
  pieces: AsyncIterable<T>,
  toError: (error: unknown) => unknown,
): AsyncGenerator<T> {
  try {
    yield* pieces;
  } catch (error) {
    throw toError(error);
  }
}

const namelessErrors = [
  NetworkError,
  RetryAfterTooLongError,
  MissingCredentialsError,
  InvalidResponseError,
  MisroutedRequestError,
];
type NamelessError = InstanceType<(typeof namelessErrors)[number]>;

const isNameless = (error: unknown): error is NamelessError => namelessErrors.some((kind) => error instanceof kind);

function getAdvice(error: NamelessError): string | undefined {
  if (error instanceof MissingCredentialsError) return `Pass ${credentialOptions[error.needs]} to createClient.`;
  if (error instanceof RetryAfterTooLongError) return "Increase maxWaitMs.";
  if (error instanceof ResponseTooLargeError) return error.adjustable ? "Increase maxResponseBytes." : undefined;
  if (!(error instanceof NetworkError)) return undefined;
  if (error.outcomeUnknown) return "The outcome is unknown. Check before you retry.";
  return error.code === "ETIMEDOUT" ? "Increase timeoutMs." : undefined;
}
