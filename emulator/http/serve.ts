import { DeclaredFailureError, type FailureCode, fail } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import { EmulatorBugError, StacklessError } from "../../src/base/errors.ts";
import { describeFsError, formatFsError, isFsError } from "../../src/files/disk.ts";
import {
  FileWriteError,
  StateReplacedError,
  type Store,
  StoreChangedError,
  StoreFailedError,
  UnconfirmedWriteError,
} from "../store/port.ts";
import type { BoundOperation } from "./bind.ts";
import { parseFields } from "./bodies/fields.ts";
import { type DecodedBody, UnreadableBodyError } from "./bodies/json.ts";
import {
  BodyAbortedError,
  BodyTimeoutError,
  hasBody,
  MaxBodyBytesExceededError,
} from "./bodies/request-body-reader.ts";
import type { HttpExchange } from "./exchange.ts";
import type { HandlerCall } from "./handler.ts";
import {
  createErrorResponse,
  createFailureResponse,
  type HttpResponse,
  retryAfterHeader,
  unchangedHeader,
} from "./reply.ts";
import { isProbe, type OperationMatch } from "./routing/operation-table.ts";
import { isDirectLoopbackRequest } from "./trusted-proxies.ts";
import type { ValidationProblem } from "./validation/schema.ts";
import type { HandlerInput } from "./validation/validate.ts";

class InvalidInputError extends StacklessError {
  readonly problems: readonly ValidationProblem[];

  constructor(problems: readonly ValidationProblem[]) {
    super("invalid");
    this.problems = problems;
  }
}

const emptyFields = Object.freeze({});

/** Runs the checks of the service and the handler. `toErrorResponse` handles errors. */
export async function serveRequest(exchange: HttpExchange, { bound, params }: OperationMatch): Promise<HttpResponse> {
  const { operation, callContext, handler } = bound;
  const steps = bound.getSteps(operation);
  const { raw, bodies, reportFinding } = exchange;
  const input: HandlerInput = { params: emptyFields, query: emptyFields, headers: emptyFields, body: undefined };
  let caller: unknown;
  /** True if the caller was identified before the body arrived. */
  let mayBeGone = false;
  let decodedBody: DecodedBody | undefined;

  for (const check of steps.checks) {
    if (check === "credentials") caller = await checkCredentials(bound, exchange);
    else if (check === "decode") {
      if (operation.request.body?.kind === "stream") input.body = bodies.readPieces(raw);
      else {
        if (hasBody(raw)) {
          mayBeGone = caller !== undefined;
          exchange.body = await bodies.collect(raw, steps.maxBodyBytes);
        }
        if (steps.decode) {
          decodedBody = steps.decode(exchange.body, raw.headers["content-type"], reportFinding);
        } else input.body = exchange.body;
      }
    } else {
      const { search } = exchange.parsedTarget;
      const query = search === "" ? emptyFields : parseFields(search);
      const parts = { params, query, headers: exchange.headers, decoded: decodedBody };
      const problems = steps.validate(parts, input);
      if (problems.length > 0) throw new InvalidInputError(problems);
      steps.relaxedChecks(parts, reportFinding);
    }
  }
  // While the body arrived, the state can have been replaced, or the workspace or token of the caller removed.
  await waitForReplacement(bound);
  if (!bound.authenticate) exchange.enterState();
  else if (mayBeGone || exchange.isStateReplaced()) caller = await checkCredentials(bound, exchange, true);
  // The text can be released while the handler waits.
  decodedBody = undefined;
  // The shared context is the prototype, because copying it for each request is slow.
  const call = Object.create(callContext);
  const request: HandlerCall<FailureCode, unknown> = { request: exchange, caller, fail, finding: reportFinding };
  const result = handler(input as never, Object.assign(call, request) as never);
  return steps.produce(result instanceof Promise ? await result : result);
}

/** Checks the caller in the state that the request changes. */
async function checkCredentials(bound: BoundOperation, exchange: HttpExchange, isRepeated = false): Promise<unknown> {
  await waitForReplacement(bound);
  const { operation, context, authenticate } = bound;
  exchange.enterState();
  const finding = isRepeated ? () => {} : exchange.reportFinding;
  return authenticate!(exchange, { operation, context, finding, logEntry: exchange, isRepeated });
}

async function waitForReplacement({ operation, context }: BoundOperation): Promise<void> {
  const { store } = context as { readonly store?: Store };
  if (!isProbe(operation)) while (store?.replacement) await store.replacement;
}

/** Rejects an undeclared method if credentials are checked first, so that clients without them detect no methods. */
export async function rejectUnauthenticated(bound: BoundOperation, exchange: HttpExchange): Promise<void> {
  if (bound.authenticate && bound.operation.service.checks[0] === "credentials")
    await checkCredentials(bound, exchange);
}

/** Returns the response to an error in the dialect of the service, or undefined if the client has disconnected. */
export function toErrorResponse(error: unknown, exchange: HttpExchange): HttpResponse | undefined {
  const { dialect, match, atPath, operation, usesControlFormat } = exchange;
  const declaration = (match?.bound ?? atPath[0])?.operation;
  if (error instanceof BodyAbortedError) return undefined;
  if (error instanceof DeclaredFailureError && declaration && isDeclaredFailure(declaration, error.code)) {
    const response = createFailureResponse(error.code, error.data);
    return error.code === "storage-store-failed" ? addUnchangedHeader(response) : response;
  }
  if (error instanceof InvalidInputError && declaration) return dialect.toInvalidResponse(error.problems, declaration);
  if (error instanceof UnreadableBodyError) return dialect.toUnreadableResponse(error.problem);
  if (error instanceof MaxBodyBytesExceededError) return dialect.toTooLargeResponse();
  if (error instanceof BodyTimeoutError) return createErrorResponse(usesControlFormat, requestTimeout);
  if (error instanceof UnconfirmedWriteError) return createErrorResponse(usesControlFormat, unconfirmedWrite);
  const storeError = toStoreErrorResponse(error, exchange);
  if (storeError) return addUnchangedHeader(storeError);
  const bug = toBugError(error, operation);
  exchange.report(bug);
  const isProgramChanged = error instanceof Error && "code" in error && error.code === missingModuleCode;
  const message = isProgramChanged
    ? "A file of the emulator's program is missing. If the program was updated, restart the emulator."
    : `The emulator has a bug in ${bug.operation}. This is not a response of the service. See its stderr.`;
  return createErrorResponse(usesControlFormat, { status: 500, code: "emulator_bug", message });
}

/** Thrown by a late import, once an update or a build has replaced the files of the running program. */
const missingModuleCode = "MODULE_NOT_FOUND";

/** The connection cannot be reused, because the remaining body is not read. */
const requestTimeout = {
  status: 408,
  code: "request_timeout",
  message: "The request was not received in time.",
  headers: ["connection", "close"],
};

/** Without a header that says so, clients do not assume that nothing was changed. */
const unconfirmedWrite = {
  status: 503,
  code: "uncertain",
  message: "The database did not confirm this change. It may be stored. Check before you retry.",
};

/** A retry applies to the current state. */
const stateReplaced = {
  status: 503,
  code: "state_replaced",
  message: "The state was replaced while this request was in progress. Nothing was saved.",
  headers: retryAfterHeader,
};

const addUnchangedHeader = (response: HttpResponse): HttpResponse => ({
  ...response,
  headers: [...response.headers, ...unchangedHeader],
});

const isDeclaredFailure = ({ failures, service }: Operation, code: FailureCode): boolean =>
  failures.includes(code) || service.failures.includes(code);

/** Nothing was stored: the disk rejected the write, or another state replaced the current one. */
function toStoreErrorResponse(error: unknown, exchange: HttpExchange): HttpResponse | undefined {
  const { dialect, usesControlFormat, reportFinding } = exchange;
  // A message names the file, which only clients on this machine may know.
  const respond = (message: string | undefined, cause: unknown) =>
    dialect.toStoreFailedResponse(
      isDirectLoopbackRequest(exchange) ? message : undefined,
      isFsError(cause) ? formatFsError(cause) : undefined,
    );
  const fileReason = describeFsError(error);
  if (fileReason !== undefined) return respond(`A file of the state cannot be used: ${fileReason}`, error);
  if (error instanceof FileWriteError || error instanceof StoreChangedError) return respond(error.message, error.cause);
  if (error instanceof StoreFailedError) return respond(undefined, error.cause);
  if (!(error instanceof StateReplacedError)) return undefined;
  reportFinding("state-replaced", "the state was replaced while it was in progress; nothing was saved");
  return createErrorResponse(usesControlFormat, stateReplaced);
}

/** Converts an undeclared failure, a response that does not match its declaration, or any other unexpected error. */
function toBugError(error: unknown, operation = "an undeclared path"): EmulatorBugError {
  if (error instanceof EmulatorBugError && error.operation) return error;
  const undeclaredMessage =
    error instanceof DeclaredFailureError
      ? `It fails with ${error.code satisfies FailureCode}, which is undeclared`
      : undefined;
  const message = undeclaredMessage ?? (error instanceof Error ? error.message : String(error));
  return new EmulatorBugError(message, { operation, cause: error });
}
