import { DeclaredFailureError, type FailureCode, fail } from "../../src/api/failures.ts";
import { EmulatorBugError, StacklessError } from "../../src/base/errors.ts";
import { describeFsError } from "../../src/files/disk.ts";
import { FileWriteError, StateReplacedError, StoreChangedError, StoreFailedError } from "../store/port.ts";
import { UnreadableBodyError } from "./bodies/decode.ts";
import type { DecodedBody } from "./bodies/json.ts";
import {
  BodyAbortedError,
  BodyTimeoutError,
  hasBody,
  MaxBodyBytesExceededError,
} from "./bodies/request-body-reader.ts";
import type { ValidationProblem } from "./dialects/dialect.ts";
import type { Exchange } from "./exchange.ts";
import type { Call } from "./handler.ts";
import { failureResponse, type HttpResponse, requestTimeoutResponse, stateReplacedResponse } from "./reply.ts";
import type { Match } from "./routing/operation-table.ts";
import type { Input } from "./validation/validate.ts";

class InvalidInputError extends StacklessError {
  readonly problems: readonly ValidationProblem[];

  constructor(problems: readonly ValidationProblem[]) {
    super("invalid");
    this.problems = problems;
  }
}

const nothing = Object.freeze({});

/**
 * Takes a request through the checks of its service to the handler of an operation, and the result to a response.
 * Fails as one of them fails: see `toErrorResponse`.
 */
export async function serve(exchange: Exchange, { bound, params }: Match): Promise<HttpResponse> {
  const { operation, steps, world, behindCalls, handler } = bound;
  const { raw, bodies, finding } = exchange;
  const input: Input = { params: nothing, query: nothing, headers: nothing, body: undefined };
  let caller: unknown;
  let decoded: DecodedBody | undefined;

  for (const check of steps.checks) {
    if (check === "credentials") {
      caller = bound.authenticate!(exchange, { operation, world, finding, line: exchange });
      if (caller instanceof Promise) caller = await caller;
    } else if (check === "decode") {
      if (steps.reads === "stream") input.body = bodies.pieces(raw);
      else {
        if (hasBody(raw)) exchange.body = await bodies.collect(raw, steps.maxBodyBytes);
        if (steps.decode) {
          const reading = steps.decode(exchange.body, raw.headers["content-type"], finding);
          decoded = reading instanceof Promise ? await reading : reading;
        } else input.body = exchange.body;
      }
    } else {
      const { search } = exchange.parsedTarget;
      const problems = steps.validate({ params, search, headers: exchange.headers, decoded }, input);
      if (problems.length > 0) throw new InvalidInputError(problems);
      steps.relaxedChecks(params, decoded, finding);
    }
  }
  // The text need not live while the handler waits, perhaps for the disk.
  decoded = undefined;
  const call = contextOf(behindCalls, { request: exchange, caller, fail, finding });
  const result = handler(input as never, call as never);
  return steps.produce(result instanceof Promise ? await result : result);
}

/**
 * Rejects a request with a method that its path does not have, if the service checks credentials before anything else:
 * an unauthenticated caller does not learn which methods exist.
 */
export async function rejectUnauthenticated(
  { operation, steps, world, authenticate }: Match["bound"],
  exchange: Exchange,
): Promise<void> {
  if (!authenticate || steps.checks[0] !== "credentials") return;
  await authenticate(exchange, { operation, world, finding: exchange.finding, line: exchange });
}

/**
 * The context of one request, with the world behind it: a copy of the world for each request would cost more than the
 * rest.
 */
function contextOf(world: object, { request, caller, fail, finding }: Call<FailureCode, unknown>): object {
  const context = Object.create(world) as { -readonly [Name in keyof Call<FailureCode, unknown>]: unknown };
  context.request = request;
  context.caller = caller;
  context.fail = fail;
  context.finding = finding;
  return context;
}

/** The response to an error, in the words of the service; undefined: the caller has gone. */
export function toErrorResponse(error: unknown, exchange: Exchange): HttpResponse | undefined {
  const { dialect, match, atPath, operation, isOfControl } = exchange;
  const bound = match?.bound ?? atPath[0];
  if (error instanceof BodyAbortedError) return undefined;
  if (error instanceof DeclaredFailureError && bound?.steps.declared.has(error.code))
    return failureResponse(error.code, error.data);
  if (error instanceof InvalidInputError && bound) return dialect.invalid(error.problems, bound.operation);
  if (error instanceof UnreadableBodyError) return dialect.unreadable(error.problem);
  if (error instanceof MaxBodyBytesExceededError) return dialect.tooLarge();
  if (error instanceof BodyTimeoutError) return requestTimeoutResponse(isOfControl);
  const notStored = toStoreErrorResponse(error, exchange);
  // Clients recognize by this that they may send the request again.
  if (notStored) return { ...notStored, headers: [...notStored.headers, "x-svc-unchanged", "true"] };
  exchange.report(toBug(error, operation));
  return dialect.bug(operation ?? "an undeclared path");
}

/** The response when nothing was stored, because the disk rejected it or another state was put in. */
function toStoreErrorResponse(error: unknown, { dialect, isOfControl, finding }: Exchange): HttpResponse | undefined {
  if (error instanceof FileWriteError || error instanceof StoreChangedError) return dialect.storeFailed(error.message);
  if (error instanceof StoreFailedError) return dialect.storeFailed();
  const why = describeFsError(error);
  if (why !== undefined) return dialect.storeFailed(`A file of the state cannot be used: ${why}`);
  if (!(error instanceof StateReplacedError)) return undefined;
  finding("state-replaced", "the state was replaced while it was in progress; nothing was saved");
  return stateReplacedResponse(isOfControl);
}

/** A failure that the operation does not declare, a response that is not as declared, or anything unforeseen. */
function toBug(error: unknown, operation = "an undeclared path"): EmulatorBugError {
  if (error instanceof EmulatorBugError && error.operation) return error;
  const undeclared =
    error instanceof DeclaredFailureError
      ? `It fails with ${error.code satisfies FailureCode}, which is undeclared`
      : undefined;
  const message = undeclared ?? (error instanceof Error ? error.message : String(error));
  return new EmulatorBugError(message, { operation, cause: error });
}
