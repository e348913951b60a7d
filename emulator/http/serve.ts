import type { IncomingMessage } from "node:http";
import { DeclaredFailureError, type FailureCode, fail } from "../../src/api/failures.ts";
import { EmulatorBugError, StacklessError } from "../../src/base/errors.ts";
import type { BoundOperation } from "./bind.ts";
import { BodyAbortedError, BodyTimeoutError, hasBody, MaxBodyBytesExceededError } from "./bodies/body-limits.ts";
import { UnreadableBodyError } from "./bodies/decode.ts";
import type { DecodedBody } from "./bodies/json.ts";
import type { ValidationProblem } from "./dialects/dialect.ts";
import type { Exchange } from "./exchange.ts";
import type { Call } from "./handler.ts";
import { failureResponse, type HttpResponse, requestTimeoutResponse } from "./reply.ts";
import type { Match } from "./routing/operation-table.ts";
import type { Input } from "./validation/validate.ts";

class Invalid extends StacklessError {
  readonly problems: readonly ValidationProblem[];

  constructor(problems: readonly ValidationProblem[]) {
    super("invalid");
    this.problems = problems;
  }
}

const nothing = Object.freeze({});

/**
 * Takes a request through the checks of its service to the handler of the operation that it matched, and the result to
 * a response. `search` is the query, without its question mark.
 */
export async function serve(
  { bound, params }: Match,
  raw: IncomingMessage,
  search: string,
  exchange: Exchange,
): Promise<HttpResponse> {
  const { operation, steps, world, behindCalls, handler } = bound;
  const { received, finding } = exchange;
  const input: Input = { params: nothing, query: nothing, headers: nothing, body: undefined };
  let caller: unknown;
  let decoded: DecodedBody | undefined;

  try {
    for (const check of steps.checks) {
      if (check === "credentials") {
        caller = bound.authenticate!(received, { operation, world, finding, line: exchange });
        if (caller instanceof Promise) caller = await caller;
      } else if (check === "decode") {
        if (steps.reads === "stream") input.body = exchange.arrivals.pieces(raw);
        else {
          if (hasBody(raw))
            received.body = await exchange.arrivals.collect(raw, steps.maxBodyBytes ?? exchange.maxBodyBytes);
          if (steps.decode) {
            const reading = steps.decode(received.body, raw.headers["content-type"], finding);
            decoded = reading instanceof Promise ? await reading : reading;
          } else input.body = received.body;
        }
      } else {
        const problems = steps.validate({ params, search, headers: received.headers, decoded }, input);
        if (problems.length > 0) throw new Invalid(problems);
        steps.relaxedChecks(params, decoded, finding);
      }
    }
    // The text need not live while the handler waits, perhaps for the disk.
    decoded = undefined;
    const call = contextOf(behindCalls, { request: received, caller, fail, finding });
    const result = handler(input as never, call as never);
    return steps.produce(result instanceof Promise ? await result : result);
  } catch (error) {
    return refusalOf(error, bound, exchange);
  }
}

/** The service's response to an error of a check or the handler. @throws errors that have no response here. */
function refusalOf(
  error: unknown,
  { steps: { declared, dialect }, operation }: BoundOperation,
  exchange: Exchange,
): HttpResponse {
  if (error instanceof DeclaredFailureError && declared.has(error.code)) return failureResponse(error.code, error.data);
  if (error instanceof Invalid) return dialect.invalid(error.problems, operation);
  if (error instanceof UnreadableBodyError) return dialect.unreadable(error.problem);
  if (error instanceof MaxBodyBytesExceededError) return dialect.tooLarge();
  if (error instanceof BodyTimeoutError) return requestTimeoutResponse(operation.service.name === "emulator");
  if (error instanceof BodyAbortedError) throw error;
  const refused = exchange.toStoreErrorResponse(error, dialect);
  if (refused) return refused;
  exchange.report(bugOf(error, operation.id));
  return dialect.bug(operation.id);
}

/**
 * The rejection of a request with a method that its path does not have, if the service checks credentials before
 * anything else: an unauthenticated caller does not learn which methods exist. Undefined: the caller may learn it.
 */
export async function rejectUnauthenticated(
  bound: BoundOperation,
  exchange: Exchange,
): Promise<HttpResponse | undefined> {
  const { operation, steps, world, authenticate } = bound;
  if (!authenticate || steps.checks[0] !== "credentials") return undefined;
  try {
    await authenticate(exchange.received, { operation, world, finding: exchange.finding, line: exchange });
    return undefined;
  } catch (error) {
    if (error instanceof DeclaredFailureError && steps.declared.has(error.code))
      return failureResponse(error.code, error.data);
    throw error;
  }
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

/** A failure that the operation does not declare, a response that is not as declared, or anything unforeseen. */
function bugOf(error: unknown, operation: string): EmulatorBugError {
  if (error instanceof EmulatorBugError) {
    return error.operation ? error : new EmulatorBugError(error.message, { operation, cause: error });
  }
  const undeclared =
    error instanceof DeclaredFailureError
      ? `It fails with ${error.code satisfies FailureCode}, which is undeclared`
      : undefined;
  const message = undeclared ?? (error instanceof Error ? error.message : String(error));
  return new EmulatorBugError(message, { operation, cause: error });
}
