import { controlPlaneBasis } from "./basis.ts";
import type { FailureCode } from "./failures.ts";

/** A check that runs before the handler. */
export type Check = "decode" | "credentials" | "validate";

/** How a service differs from the others, apart from its paths (DECISIONS.md, E8). */
export interface Service {
  readonly name: "router" | "contracts" | "emulator" | "storage";
  readonly title: string;
  readonly version: string;
  /** Format of validation errors (emulator/http/dialects). */
  readonly dialect: "fastapi" | "platform" | "control";
  /**
   * How a request without a body is treated. `missing` reports the body, and `empty` reports the fields of an empty
   * object.
   */
  readonly absentBody: "missing" | "empty";
  /** `exact` distinguishes paths by their trailing slash. `redirect` responds with 302 to the documented spelling. */
  readonly slashes: "exact" | "redirect";
  /** The order of the checks before the handler. */
  readonly checks: readonly Check[];
  /** Failures that each operation of the service can return. */
  readonly failures: readonly FailureCode[];
}

/** The routing service, as specified. */
export const router = {
  name: "router",
  title: "Routing service",
  // Version from the specification, Versioning.
  version: "0.1.0",
  dialect: "fastapi",
  absentBody: "missing",
  slashes: "exact",
  // A JSON syntax error is reported before credentials are checked (DECISIONS.md, P12).
  checks: ["decode", "credentials", "validate"],
  failures: ["validation", "unparsable-body", "body-too-large", "store-failed"],
} as const satisfies Service;

/** The public contract API, as specified. */
export const contracts = {
  name: "contracts",
  title: "Public contract API",
  version: "2.1",
  dialect: "platform",
  absentBody: "empty",
  slashes: "redirect",
  checks: ["credentials", "decode", "validate"],
  failures: [
    "no-credentials",
    "wrong-credentials",
    "permission-denied",
    "workspace-suspended",
    "invalid-fields",
    "json-parse-error",
    "method-not-allowed",
    "unsupported-media-type",
    "throttled",
    "contracts-body-too-large",
    "contracts-store-failed",
  ],
} as const satisfies Service;

/** The emulator's own control plane (DECISIONS.md, E7). */
export const emulator = {
  name: "emulator",
  title: "Emulator control plane",
  version: "1.0",
  dialect: "control",
  absentBody: "missing",
  slashes: "exact",
  checks: ["credentials", "decode", "validate"],
  failures: [
    "no-control-token",
    "unknown-control-token",
    "insufficient-role",
    "workspace-token-not-allowed",
    "invalid-control-input",
    "control-store-failed",
  ],
} as const satisfies Service;

/** The storage, with the signed PUT and GET. The base is the absolute signed URL, so no credentials are sent. */
export const storage = {
  name: "storage",
  title: "Signed storage",
  version: "1.0",
  dialect: "platform",
  absentBody: "empty",
  slashes: "exact",
  checks: ["credentials", "decode", "validate"],
  failures: [],
} as const satisfies Service;

/** A request is a GET without input, unless its declaration says otherwise. */
const plainRequest = { method: "GET", request: {}, failures: [] } as const;

/** The parts that most operations of the routing service share. A declaration overrides what differs. */
export const routerOperation = { ...plainRequest, service: router, auth: "none", basis: "specified" } as const;

export const contractOperation = { ...plainRequest, service: contracts, auth: "api-key" } as const;
export const publicOperation = { ...contractOperation, basis: "public" } as const;
export const specifiedOperation = { ...contractOperation, basis: "specified" } as const;

export const controlOperation = {
  ...plainRequest,
  service: emulator,
  auth: "control-token",
  basis: controlPlaneBasis,
} as const;
