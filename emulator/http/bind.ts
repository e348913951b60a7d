import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import type { Check } from "../../src/api/services.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { memoize } from "../../src/base/object.ts";
import { type DecodeBody, decoderFor } from "./bodies/decode.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { dialectOf } from "./dialects/dialects.ts";
import type { Authenticate } from "./handler.ts";
import { type AnyHandler, createCallContext, type Part } from "./parts.ts";
import { producerFor, type ResponseProducer } from "./response-producer.ts";
import { catchAllPath } from "./routing/routes.ts";
import { type RelaxedChecks, relaxedChecksOf } from "./validation/lax-coercion.ts";
import { acceptsAnything, type ValidateRequest, validatorFor } from "./validation/validate.ts";

/** An operation of a listener, with all that its requests need. */
export interface BoundOperation {
  readonly operation: Operation;
  readonly steps: Steps;
  readonly world: object;
  /** The world as calls have it behind them. */
  readonly behindCalls: object;
  readonly handler: AnyHandler;
  readonly authenticate: Authenticate<object> | undefined;
}

/** Handles the requests of an operation before and after its handler, by its declaration alone. */
export interface Steps {
  readonly dialect: Dialect;
  /** The checks that have something to do, in the order of the service. */
  readonly checks: readonly Check[];
  /** How the body is read. */
  readonly reads: "nothing" | "bytes" | "stream";
  /** Where the listener's own limit does not hold. */
  readonly maxBodyBytes: number | undefined;
  readonly decode: DecodeBody | undefined;
  readonly validate: ValidateRequest;
  readonly relaxedChecks: RelaxedChecks;
  readonly produce: ResponseProducer;
  /** Codes of the failures that it may answer with. */
  readonly declared: ReadonlySet<FailureCode>;
  readonly isCatchAll: boolean;
}

// Of a declaration once in a process: all its emulators serve the same.
const validatorOf = memoize(validatorFor);
const relaxedOf = memoize(relaxedChecksOf);
const producerOf = memoize(producerFor);
const defaultSteps = memoize((operation: Operation) => stepsFor(operation, false));
const strictSteps = memoize((operation: Operation) => stepsFor(operation, true));

/** All operations of a part. Fails with EmulatorBugError when one cannot be served. */
export function bindPart(part: Part, strictBodies: boolean): readonly BoundOperation[] {
  const behindCalls = createCallContext(part.world);
  return part.operations.map((operation) => bind(operation, part, behindCalls, strictBodies));
}

function bind(operation: Operation, part: Part, behindCalls: object, strictBodies: boolean): BoundOperation {
  const { id, auth } = operation;
  const authenticate = auth === "none" ? undefined : part.authenticate[auth];
  const handler = Object.hasOwn(part.handlers, id) ? part.handlers[id] : undefined;
  if (!handler) throw new EmulatorBugError("No handler is registered", { operation: id });
  if (auth !== "none" && !authenticate) {
    throw new EmulatorBugError(`No check is registered for credentials of kind ${auth}`, { operation: id });
  }
  const steps = strictBodies ? strictSteps(operation) : defaultSteps(operation);
  return { operation, steps, world: part.world, behindCalls, handler, authenticate };
}

function stepsFor(operation: Operation, strictBodies: boolean): Steps {
  const { service, auth, request, failures } = operation;
  const reads = request.body === undefined ? "nothing" : request.body.kind === "stream" ? "stream" : "bytes";
  const needed: Readonly<Record<Check, boolean>> = {
    credentials: auth !== "none",
    decode: reads !== "nothing",
    validate: acceptsAnything(operation),
  };
  let validate: ValidateRequest | undefined;
  let relaxedChecks: RelaxedChecks | undefined;
  let produce: ResponseProducer | undefined;
  return {
    dialect: dialectOf(operation),
    checks: service.checks.filter((check) => needed[check]),
    reads,
    maxBodyBytes: request.body?.kind === "json" ? request.body.maxBytes : undefined,
    decode: decoderFor(request.body, service.dialect, strictBodies),
    // For the first request that needs it: an emulator serves few of its operations in its life.
    get validate() {
      validate ??= validatorOf(operation);
      return validate;
    },
    get relaxedChecks() {
      relaxedChecks ??= relaxedOf(operation);
      return relaxedChecks;
    },
    get produce() {
      produce ??= producerOf(operation);
      return produce;
    },
    declared: new Set([...failures, ...service.failures]),
    isCatchAll: operation.path === catchAllPath,
  };
}
