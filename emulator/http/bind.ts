import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import type { Check } from "../../src/api/services.ts";
import { EmulatorBug } from "../../src/base/bug.ts";
import { madeOnce } from "../../src/base/made-once.ts";
import { type Decode, decoderFor } from "./bodies/decode.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { dialectOf } from "./dialects/index.ts";
import type { Authenticate } from "./handler.ts";
import { type AnyHandler, type Part, worldOfCalls } from "./parts.ts";
import { type Produce, producerFor } from "./produce.ts";
import { catchAllPath } from "./routing/routes.ts";
import { type RelaxedChecks, relaxedChecksOf } from "./validation/lax.ts";
import { takesAnything, type Validate, validatorFor } from "./validation/validate.ts";

/** An operation of a listener, with all that its requests need. */
export interface Bound {
  readonly operation: Operation;
  readonly steps: Steps;
  readonly world: object;
  /** The world as calls have it behind them. */
  readonly behindCalls: object;
  readonly handler: AnyHandler;
  readonly authenticate: Authenticate<object> | undefined;
}

/** What becomes of the requests of an operation before and after its handler, by its declaration alone. */
export interface Steps {
  readonly dialect: Dialect;
  /** The checks that have something to do, in the order of the service. */
  readonly checks: readonly Check[];
  /** What becomes of the body. */
  readonly reads: "nothing" | "bytes" | "stream";
  /** Where the listener's own limit does not hold. */
  readonly maxBodyBytes: number | undefined;
  readonly decode: Decode | undefined;
  readonly validate: Validate;
  readonly relaxedChecks: RelaxedChecks;
  readonly produce: Produce;
  /** Codes of the failures that it may answer with. */
  readonly declared: ReadonlySet<FailureCode>;
  readonly isCatchAll: boolean;
}

// Of a declaration once in a process: all its emulators serve the same.
const validatorOf = madeOnce(validatorFor);
const relaxedOf = madeOnce(relaxedChecksOf);
const producerOf = madeOnce(producerFor);
const usualSteps = madeOnce((operation: Operation) => stepsFor(operation, false));
const strictSteps = madeOnce((operation: Operation) => stepsFor(operation, true));

/** All operations of a part. Fails with EmulatorBug when one cannot be served. */
export function bindPart(part: Part, strictBodies: boolean): readonly Bound[] {
  const behindCalls = worldOfCalls(part.world);
  return part.operations.map((operation) => bind(operation, part, behindCalls, strictBodies));
}

function bind(operation: Operation, part: Part, behindCalls: object, strictBodies: boolean): Bound {
  const { id, auth } = operation;
  const authenticate = auth === "none" ? undefined : part.authenticate[auth];
  const handler = Object.hasOwn(part.handlers, id) ? part.handlers[id] : undefined;
  if (!handler) throw new EmulatorBug("Nothing handles it", { operation: id });
  if (auth !== "none" && !authenticate) {
    throw new EmulatorBug(`Nobody checks credentials of the kind ${auth}`, { operation: id });
  }
  const steps = strictBodies ? strictSteps(operation) : usualSteps(operation);
  return { operation, steps, world: part.world, behindCalls, handler, authenticate };
}

function stepsFor(operation: Operation, strictBodies: boolean): Steps {
  const { service, auth, request, failures } = operation;
  const reads = request.body === undefined ? "nothing" : request.body.kind === "stream" ? "stream" : "bytes";
  const needed: Readonly<Record<Check, boolean>> = {
    credentials: auth !== "none",
    decode: reads !== "nothing",
    validate: takesAnything(operation),
  };
  let validate: Validate | undefined;
  let relaxedChecks: RelaxedChecks | undefined;
  let produce: Produce | undefined;
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
