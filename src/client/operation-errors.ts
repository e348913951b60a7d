import {
  InvalidResponseError,
  MisroutedRequestError,
  MissingCredentialsError,
  NetworkError,
  ResponseTooLargeError,
  RetryAfterTooLongError,
} from "./errors.ts";

/** The options of createClient that each kind of credentials consists of. */
const credentialOptions: Readonly<Record<MissingCredentialsError["needs"], string>> = {
  "api-key": "credentials.clientId and credentials.clientSecret",
  basic: "credentials.basic",
  bearer: "credentials.bearer",
  "control-token": "credentials.controlToken",
};

/**
 * Says in what a call failed with which operation it was, and which option of a program may help: test runners print the
 * message and the stack, and nothing else. A refusal says so itself; commands name their call, and have flags.
 */
export function addOperationToError(operation: string, error: unknown): unknown {
  if (!isNameless(error)) return error;
  const advice = adviceFor(error);
  const message = `${operation}: ${error.message}${advice === undefined ? "" : ` ${advice}`}`;
  // What was captured begins with the message as it was then.
  error.stack = error.stack?.replace(error.message, () => message) ?? "";
  error.message = message;
  return error;
}

/** The same of what comes piece by piece, and may fail amid that. */
export async function* addOperationToStreamErrors<T>(operation: string, pieces: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* pieces;
  } catch (error) {
    throw addOperationToError(operation, error);
  }
}

type Nameless =
  | NetworkError
  | RetryAfterTooLongError
  | MissingCredentialsError
  | InvalidResponseError
  | MisroutedRequestError;

const isNameless = (error: unknown): error is Nameless =>
  [NetworkError, RetryAfterTooLongError, MissingCredentialsError, InvalidResponseError, MisroutedRequestError].some(
    (kind) => error instanceof kind,
  );

function adviceFor(error: Nameless): string | undefined {
  if (error instanceof MissingCredentialsError) return `Pass ${credentialOptions[error.needs]} to createClient.`;
  if (error instanceof RetryAfterTooLongError) return "Increase maxWaitMs.";
  if (error instanceof ResponseTooLargeError) return error.adjustable ? "Increase maxAnswerBytes." : undefined;
  if (!(error instanceof NetworkError)) return undefined;
  if (error.outcomeUnknown) return "The outcome is unknown. Check before you retry.";
  return error.code === "ETIMEDOUT" ? "Increase timeoutMs." : undefined;
}
