import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import type { Check } from "../../src/api/services.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { memoize } from "../../src/base/object.ts";
import { addCause } from "../store/causes.ts";
import type { Store } from "../store/port.ts";
import { type BodyDecoder, createDecoder } from "./bodies/decode.ts";
import type { ErrorDialect } from "./dialects/dialect.ts";
import { getDialect } from "./dialects/dialects.ts";
import type { Authenticator, HandlerCall, ListenerPart, UntypedHandler } from "./handler.ts";
import { createResponseProducer, type ResponseProducer } from "./response-producer.ts";
import { catchAllPath } from "./routing/routes.ts";
import { createRelaxedChecks, type RelaxedChecks } from "./validation/lax-coercion.ts";
import { createValidator, hasInputSchema, type RequestValidator } from "./validation/validate.ts";

export interface BoundOperation {
  readonly operation: Operation;
  readonly steps: OperationSteps;
  readonly context: object;
  readonly callContext: object;
  readonly handler: UntypedHandler;
  readonly authenticate: Authenticator<object> | undefined;
}

/** Steps before and after the handler of an operation. They depend only on its declaration. */
export interface OperationSteps {
  readonly dialect: ErrorDialect;
  /** Required checks, in the order of the service. */
  readonly checks: readonly Check[];
  readonly bodyInput: "nothing" | "bytes" | "stream";
  /** Limit of the operation, if it differs from the limit of the listener. */
  readonly maxBodyBytes: number | undefined;
  readonly decode: BodyDecoder | undefined;
  readonly validate: RequestValidator;
  readonly relaxedChecks: RelaxedChecks;
  readonly produce: ResponseProducer;
  readonly declaredFailures: ReadonlySet<FailureCode>;
  readonly isCatchAll: boolean;
}

// Steps are cached per declaration, because all emulators of a process serve the same operations.
const getDefaultSteps = memoize((operation: Operation) => createSteps(operation, false));
const getStrictSteps = memoize((operation: Operation) => createSteps(operation, true));

/** Binds all operations of a part. Throws EmulatorBugError if an operation cannot be served. */
export function bindPart(
  { operations, handlers, context, authenticate }: ListenerPart,
  strictBodies: boolean,
): BoundOperation[] {
  const callContext = createCallContext(context);
  return operations.map((operation) => {
    const { id, auth } = operation;
    const handler = Object.hasOwn(handlers, id) ? handlers[id] : undefined;
    if (!handler) throw new EmulatorBugError("No handler is registered", { operation: id });
    const check = auth === "none" ? undefined : authenticate[auth];
    if (auth !== "none" && !check) {
      throw new EmulatorBugError(`No check is registered for credentials of kind ${auth}`, { operation: id });
    }
    const steps = strictBodies ? getStrictSteps(operation) : getDefaultSteps(operation);
    return { operation, steps, context, callContext, handler, authenticate: check };
  });
}

/**
 * Creates the prototype of request contexts. Its store is created on demand, because most requests read once and write
 * nothing. The request is the cause of the store's writes.
 */
function createCallContext(context: object): object {
  const { store } = context as { readonly store?: Store };
  if (store === undefined) return context;
  return Object.create(context, {
    store: {
      get(this: HandlerCall<FailureCode, unknown>) {
        return addCause(store, this.request.cause);
      },
    },
  });
}

function createSteps(operation: Operation, strictBodies: boolean): OperationSteps {
  const { service, auth, request, failures } = operation;
  const bodyInput = request.body === undefined ? "nothing" : request.body.kind === "stream" ? "stream" : "bytes";
  const isRequired: Readonly<Record<Check, boolean>> = {
    credentials: auth !== "none",
    decode: bodyInput !== "nothing",
    validate: hasInputSchema(operation),
  };
  return {
    dialect: getDialect(operation),
    checks: service.checks.filter((check) => isRequired[check]),
    bodyInput,
    maxBodyBytes: request.body?.kind === "json" ? request.body.maxBytes : undefined,
    decode: createDecoder(request.body, service.dialect, strictBodies),
    validate: createOnFirstCall(() => createValidator(operation)),
    relaxedChecks: createOnFirstCall(() => createRelaxedChecks(operation)),
    produce: createOnFirstCall(() => createResponseProducer(operation)),
    declaredFailures: new Set([...failures, ...service.failures]),
    isCatchAll: operation.path === catchAllPath,
  };
}

/** Creates the step for the first request that needs it, because an emulator serves few of its operations. */
function createOnFirstCall<Args extends readonly unknown[], Result>(
  create: () => (...args: Args) => Result,
): (...args: Args) => Result {
  let step: ((...args: Args) => Result) | undefined;
  return (...args) => {
    step ??= create();
    return step(...args);
  };
}
