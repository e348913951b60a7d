import type { IncomingMessage, ServerResponse } from "node:http";
import { type FailureCode, fail, Refusal } from "../../src/api/failures.ts";
import { EmulatorBug } from "../../src/base/bug.ts";
import { StoreFailed } from "../store/port.ts";
import { type Answer, failureAnswer } from "./answer.ts";
import type { Bound } from "./bind.ts";
import { UnreadableBody } from "./bodies/decode.ts";
import type { Fields } from "./bodies/form.ts";
import type { Decoded } from "./bodies/json.ts";
import { BodyAborted, BodyLate, BodyTooLarge, hasBody } from "./collect.ts";
import type { Problem } from "./dialects/problem.ts";
import type { Exchange } from "./exchange.ts";
import type { Received } from "./received.ts";
import { tooLate } from "./unmatched.ts";
import type { Input } from "./validation/validate.ts";

/** One request that was matched: the raw pair, the operation, and what its path named. */
export interface Matched {
  readonly bound: Bound;
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: Fields;
  /** The query, without its question mark. */
  readonly search: string;
}

class Invalid extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super("invalid");
    this.problems = problems;
  }
}

const nothing = Object.freeze({});

/** Takes a matched request through the checks of its service to its handler, and its result to an answer. */
export async function serve(matched: Matched, exchange: Exchange): Promise<Answer> {
  const { bound } = matched;
  try {
    return await handle(matched, exchange);
  } catch (error) {
    if (error instanceof Refusal && bound.declared.has(error.code)) return failureAnswer(error.code, error.data);
    if (error instanceof Invalid) return bound.dialect.invalid(error.problems, bound.operation);
    if (error instanceof UnreadableBody) return bound.dialect.unreadable(error.problem);
    if (error instanceof BodyTooLarge) return bound.dialect.tooLarge();
    if (error instanceof BodyLate) return tooLate(bound.operation.service.name === "emulator");
    if (error instanceof StoreFailed) return bound.dialect.storeFailed();
    if (error instanceof BodyAborted) throw error;
    exchange.report(bugOf(error, bound.operation.id));
    return bound.dialect.bug(bound.operation.id);
  }
}

/**
 * The refusal of a request with a method that its path does not have, where the service looks at credentials before
 * anything else: a stranger is not told which methods there are. Undefined: the caller may be told.
 */
export async function refusedAsStranger(bound: Bound, exchange: Exchange): Promise<Answer | undefined> {
  const { operation, world, authenticate } = bound;
  if (!authenticate || bound.checks[0] !== "credentials") return undefined;
  const finding = (code: string, detail?: string) => exchange.find(code, detail);
  try {
    await authenticate(exchange.received, { operation, world, finding });
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && bound.declared.has(error.code)) return failureAnswer(error.code, error.data);
    if (error instanceof StoreFailed) return bound.dialect.storeFailed();
    throw error;
  }
}

async function handle({ bound, raw, params, search }: Matched, exchange: Exchange): Promise<Answer> {
  const { operation, world, handler } = bound;
  const { received } = exchange;
  const finding = (code: string, detail?: string) => exchange.find(code, detail);
  const input: Input = { params: nothing, query: nothing, headers: nothing, body: undefined };
  let caller: unknown;
  let decoded: Decoded | undefined;

  for (const check of bound.checks) {
    if (check === "credentials") {
      caller = bound.authenticate!(received, { operation, world, finding });
      if (caller instanceof Promise) caller = await caller;
    } else if (check === "decode") {
      if (bound.reads === "stream") input.body = exchange.arrivals.pieces(raw);
      else {
        if (hasBody(raw))
          received.body = await exchange.arrivals.collect(raw, bound.maxBodyBytes ?? exchange.maxBodyBytes);
        if (bound.decode) {
          const reading = bound.decode(received.body, raw.headers["content-type"], finding);
          decoded = reading instanceof Promise ? await reading : reading;
        } else input.body = received.body;
      }
    } else {
      const problems = bound.validate!({ params, search, headers: received.headers, decoded }, input);
      if (problems.length > 0) throw new Invalid(problems);
    }
  }
  // The text need not live while the handler waits, perhaps for the disk.
  decoded = undefined;
  // The world comes last: V8 copies it twenty times slower when more properties follow it.
  const context = { request: received as Received, caller, fail, finding, ...world };
  const result = handler(input as never, context as never);
  return bound.produce(result instanceof Promise ? await result : result);
}

/** A failure that the operation does not declare, an answer that is not as declared, or anything unforeseen. */
function bugOf(error: unknown, operation: string): EmulatorBug {
  if (error instanceof EmulatorBug) {
    return error.operation ? error : new EmulatorBug(error.message, { operation, cause: error });
  }
  const undeclared =
    error instanceof Refusal ? `It refuses with ${error.code satisfies FailureCode}, undeclared` : undefined;
  const message = undeclared ?? (error instanceof Error ? error.message : String(error));
  return new EmulatorBug(message, { operation, cause: error });
}
