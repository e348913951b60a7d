import type { Basis } from "../../api/basis.ts";
import { type FailureCode, failureCatalogue } from "../../api/failures.ts";
import type { Operation } from "../../api/operation.ts";
import { registry } from "../../api/registry.ts";
import { buildSample, collectFailures } from "../../derive/openapi/operations.ts";
import { matchTextPieces } from "./compare-text.ts";

/** Claim of the emulator about how an operation of the service responds. */
export interface EmulatorClaim {
  /** Examples: `contracts.create`, `contracts.send no-signatories`, `webhook CONTRACT_CREATED`. */
  readonly name: string;
  readonly operation: string;
  /** `specified` or `assumed`. */
  readonly basis: string;
  /** Rows of DECISIONS.md that the basis cites. */
  readonly decisions: readonly string[];
}

const declaredOperations: readonly Operation[] = registry;

export const findOperationById = (id: string | undefined): Operation | undefined =>
  id === undefined ? undefined : declaredOperations.find((item) => item.id === id);

const createClaim = (operation: string, failure: FailureCode | undefined, basis: Basis): EmulatorClaim => ({
  name: failure === undefined ? operation : `${operation} ${failure}`,
  operation,
  basis: typeof basis === "string" ? basis : "assumed",
  decisions: typeof basis === "string" ? [] : (basis.assumed.match(/\b[RCFPLE]\d{1,2}\b/g) ?? []),
});

/** Finds the claim for a response with this status and body. */
export function findClaim(operation: Operation, status: number, body: unknown): EmulatorClaim {
  const failure = status < 400 ? undefined : findFailure(operation, status, body);
  return createClaim(operation.id, failure, failure === undefined ? operation.basis : failureCatalogue[failure].basis);
}

export const createWebhookClaim = (activity: string): EmulatorClaim =>
  createClaim(`webhook ${activity}`, undefined, {
    assumed: "The fields of a payload and their order follow DECISIONS.md, C17 and F21.",
  });

export const listClaims = (): EmulatorClaim[] =>
  declaredOperations
    .filter(({ service }) => service.name !== "emulator")
    .flatMap((operation) => [
      createClaim(operation.id, undefined, operation.basis),
      ...collectFailures(operation).map((code) => createClaim(operation.id, code, failureCatalogue[code].basis)),
    ]);

/** Finds the declared failure with this status. The message distinguishes failures with the same status. */
function findFailure(operation: Operation, status: number, body: unknown): FailureCode | undefined {
  const codes = [...new Set([...collectFailures(operation), ...operation.service.failures])].filter(
    (code) => failureCatalogue[code].status === status,
  );
  return (
    codes.find((code) => matchesSample(buildSample(failureCatalogue[code]), body)) ??
    codes.find((code) => /invalid-fields|validation/.test(code)) ??
    codes[0]
  );
}

/** Reports whether a body has the structure and the messages of a sample. `<names>` in a sample match any string. */
function matchesSample(sample: unknown, body: unknown): boolean {
  if (typeof sample === "string") {
    return typeof body === "string" && matchTextPieces(body, sample.split(/<[\w ]{1,60}>/)) !== undefined;
  }
  if (typeof sample !== "object" || sample === null || typeof body !== "object" || body === null)
    return sample === body;
  return Object.entries(sample).every(
    ([key, value]) => key in body && matchesSample(value, (body as Record<string, unknown>)[key]),
  );
}
