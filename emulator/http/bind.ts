import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import type { Check } from "../../src/api/services.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { memoize } from "../../src/base/object.ts";
import { createDecoder, type DecodeBody } from "./bodies/decode.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { getDialect } from "./dialects/dialects.ts";
import { type AnyHandler, type Authenticate, createCallContext, type Part } from "./handler.ts";
import { createProducer, type ResponseProducer } from "./response-producer.ts";
import { catchAllPath } from "./routing/routes.ts";
import { createRelaxedChecks, type RelaxedChecks } from "./validation/lax-coercion.ts";
import { createValidator, hasNoInputSchema, type ValidateRequest } from "./validation/validate.ts";

/** An operation of a listener, with everything that its requests need. */
export interface BoundOperation {
  readonly operation: Operation;
  readonly steps: OperationSteps;
  readonly context: object;
  /** The resources of the prototype of its calls. */
  readonly callContext: object;
  readonly handler: AnyHandler;
  readonly authenticate: Authenticate<object> | undefined;
}

/** The steps before and after the handler of an operation, which depend only on its declaration. */
export interface OperationSteps {
  readonly dialect: Dialect;
  /** The required checks, in the order of the service. */
  readonly checks: readonly Check[];
  /** Decodes the body. */
  readonly reads: "nothing" | "bytes" | "stream";
  /** The limit of the operation, if it differs from that of the listener. */
  readonly maxBodyBytes: number | undefined;
  readonly decode: DecodeBody | undefined;
  readonly validate: ValidateRequest;
  readonly relaxedChecks: RelaxedChecks;
  readonly produce: ResponseProducer;
  /** Codes of its declared failures. */
  readonly declared: ReadonlySet<FailureCode>;
  readonly isCatchAll: boolean;
}

// Cached per declaration, because all emulators of a process serve the same operations.
const validatorOf = memoize(createValidator);
const relaxedOf = memoize(createRelaxedChecks);
const producerOf = memoize(createProducer);
const defaultSteps = memoize((operation: Operation) => createSteps(operation, false));
const strictSteps = memoize((operation: Operation) => createSteps(operation, true));

/** Binds all operations of a part. Fails with EmulatorBugError if one cannot be served. */
export function bindPart(part: Part, strictBodies: boolean): readonly BoundOperation[] {
  const callContext = createCallContext(part.context);
  return part.operations.map((operation) => bind(operation, part, callContext, strictBodies));
}

function bind(operation: Operation, part: Part, callContext: object, strictBodies: boolean): BoundOperation {
  const { id, auth } = operation;
  const authenticate = auth === "none" ? undefined : part.authenticate[auth];
  const handler = Object.hasOwn(part.handlers, id) ? part.handlers[id] : undefined;
  if (!handler) throw new EmulatorBugError("No handler is registered", { operation: id });
  if (auth !== "none" && !authenticate) {
    throw new EmulatorBugError(`No check is registered for credentials of kind ${auth}`, { operation: id });
  }
  const steps = strictBodies ? strictSteps(operation) : defaultSteps(operation);
  return { operation, steps, context: part.context, callContext, handler, authenticate };
}

function createSteps(operation: Operation, strictBodies: boolean): OperationSteps {
  const { service, auth, request, failures } = operation;
  const reads = request.body === undefined ? "nothing" : request.body.kind === "stream" ? "stream" : "bytes";
  const needed: Readonly<Record<Check, boolean>> = {
    credentials: auth !== "none",
    decode: reads !== "nothing",
    validate: hasNoInputSchema(operation),
  };
  let validate: ValidateRequest | undefined;
  let relaxedChecks: RelaxedChecks | undefined;
  let produce: ResponseProducer | undefined;
  return {
    dialect: getDialect(operation),
    checks: service.checks.filter((check) => needed[check]),
    reads,
    maxBodyBytes: request.body?.kind === "json" ? request.body.maxBytes : undefined,
    decode: createDecoder(request.body, service.dialect, strictBodies),
    // Created for the first request that needs it, because an emulator serves few of its operations.
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
