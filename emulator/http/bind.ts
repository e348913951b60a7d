import * as z from "zod";
import type { FailureCode } from "../../src/api/failures.ts";
import { json, type Operation } from "../../src/api/operation.ts";
import type { Check } from "../../src/api/services.ts";
import { rejectUnknownFields } from "../../src/api/shapes.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { memoize } from "../../src/base/object.ts";
import { addCause } from "../store/causes.ts";
import type { Store } from "../store/port.ts";
import { type BodyDecoder, createDecoder } from "./bodies/decode.ts";
import type { Authenticator, HandlerCall, ListenerPart, UntypedHandler } from "./handler.ts";
import { createResponseProducer, type ResponseProducer } from "./response-producer.ts";
import { createRelaxedChecks, type RelaxedChecks } from "./validation/lax-coercion.ts";
import { createValidator, hasInputSchema, type RequestValidator } from "./validation/validate.ts";

/** An operation with the resources of its part. */
export interface BoundOperation {
  readonly operation: Operation;
  readonly getSteps: (operation: Operation) => OperationSteps;
  readonly context: object;
  readonly callContext: object;
  readonly handler: UntypedHandler;
  readonly authenticate: Authenticator<object> | undefined;
}

/** Steps before and after the handler of an operation. They depend only on its declaration. */
interface OperationSteps {
  /** Required checks, in the order of the service. */
  readonly checks: readonly Check[];
  /** Limit of the operation, if it differs from the limit of the listener. */
  readonly maxBodyBytes: number | undefined;
  readonly decode: BodyDecoder | undefined;
  readonly validate: RequestValidator;
  readonly relaxedChecks: RelaxedChecks;
  readonly produce: ResponseProducer;
}

// Steps are created for the first request, because an emulator serves few of its operations. All emulators of a process
// share them.
const getDefaultSteps = memoize((operation: Operation) => createSteps(operation, false));
const getStrictSteps = memoize((operation: Operation) => createSteps(operation, true));

/** Query and body that the control plane does not declare may not have fields. */
const noFields = rejectUnknownFields(z.object({}));
const emptyRequest = { query: noFields, body: json(noFields.optional()) };

function createSteps(declaration: Operation, strictBodies: boolean): OperationSteps {
  const { service, auth } = declaration;
  const isClosed = service.dialect === "control" && auth !== "none";
  const operation = isClosed ? { ...declaration, request: { ...emptyRequest, ...declaration.request } } : declaration;
  const { request } = operation;
  const isRequired: Readonly<Record<Check, boolean>> = {
    credentials: auth !== "none",
    decode: request.body !== undefined,
    validate: hasInputSchema(operation),
  };
  return {
    checks: service.checks.filter((check) => isRequired[check]),
    maxBodyBytes: request.body?.kind === "json" ? request.body.maxBytes : undefined,
    decode: createDecoder(request.body, service.dialect, strictBodies),
    validate: createValidator(operation),
    relaxedChecks: createRelaxedChecks(operation),
    produce: createResponseProducer(operation),
  };
}

/** Binds all operations of a part. Throws EmulatorBugError if an operation cannot be served. */
export function bindPart(
  { operations, handlers, context, authenticate }: ListenerPart,
  strictBodies: boolean,
): BoundOperation[] {
  const callContext = createCallContext(context);
  return operations.map((operation) => {
    const { id, auth } = operation;
    const check = auth === "none" ? undefined : authenticate[auth];
    if (auth !== "none" && !check) {
      throw new EmulatorBugError(`No check is registered for credentials of kind ${auth}`, { operation: id });
    }
    const getSteps = strictBodies ? getStrictSteps : getDefaultSteps;
    return { operation, getSteps, context, callContext, handler: handlers[id]!, authenticate: check };
  });
}

/** Creates the prototype of request contexts, whose store is created on demand. The request causes its writes. */
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
