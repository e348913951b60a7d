import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import type { Check } from "../../src/api/services.ts";
import { EmulatorBug } from "../../src/base/bug.ts";
import { type Decode, decoderFor } from "./bodies/decode.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { dialects } from "./dialects/index.ts";
import type { Authenticate } from "./handler.ts";
import type { AnyHandler, Part } from "./parts.ts";
import { type Produce, producerFor } from "./produce.ts";
import { type Validate, validatorFor } from "./validation/validate.ts";

/** An operation with all that can be prepared before its first request. */
export interface Bound {
  readonly operation: Operation;
  readonly dialect: Dialect;
  readonly world: object;
  readonly handler: AnyHandler;
  /** The checks that have something to do, in the order of the service. */
  readonly checks: readonly Check[];
  readonly authenticate: Authenticate<object> | undefined;
  /** What becomes of the body. */
  readonly reads: "nothing" | "bytes" | "stream";
  /** Where the listener's own limit does not hold. */
  readonly maxBodyBytes: number | undefined;
  readonly decode: Decode | undefined;
  readonly validate: Validate | undefined;
  readonly produce: Produce;
  /** Codes of the failures that it may answer with. */
  readonly declared: ReadonlySet<FailureCode>;
  readonly isCatchAll: boolean;
}

/** The path of the operation that takes what nothing else does. */
const catchAllPath = "/{full_path}";

/** Prepares all operations of a part. Fails with EmulatorBug when one cannot be served. */
export const bindPart = (part: Part, strictBodies: boolean): readonly Bound[] =>
  part.operations.map((operation) => bind(operation, part, strictBodies));

function bind(operation: Operation, part: Part, strictBodies: boolean): Bound {
  const { id, service, auth, request, failures } = operation;
  const authenticate = auth === "none" ? undefined : part.authenticate[auth];
  const handler = Object.hasOwn(part.handlers, id) ? part.handlers[id] : undefined;
  if (!handler) throw new EmulatorBug("Nothing handles it", { operation: id });
  if (auth !== "none" && !authenticate) {
    throw new EmulatorBug(`Nobody checks credentials of the kind ${auth}`, { operation: id });
  }
  const decode = decoderFor(request.body, service.dialect, strictBodies);
  const validate = validatorFor(operation);
  const reads = request.body === undefined ? "nothing" : request.body.kind === "stream" ? "stream" : "bytes";
  const needed: Readonly<Record<Check, boolean>> = {
    credentials: authenticate !== undefined,
    decode: reads !== "nothing",
    validate: validate !== undefined,
  };
  return {
    operation,
    dialect: dialects[service.dialect],
    world: part.world,
    handler,
    checks: service.checks.filter((check) => needed[check]),
    authenticate,
    reads,
    maxBodyBytes: request.body?.kind === "json" ? request.body.maxBytes : undefined,
    decode,
    validate,
    produce: producerFor(operation),
    declared: new Set([...failures, ...service.failures]),
    isCatchAll: operation.path === catchAllPath,
  };
}
