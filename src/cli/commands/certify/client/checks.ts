import {
  type Assessor,
  assessContinuation,
  assessDelivery,
  assessEncoding,
  assessExitCode,
  assessFields,
  assessInterval,
  assessLastingSlowDown,
  assessRepeatedSlowDown,
  assessSecrets,
  assessShownAddress,
  assessShownCode,
  assessSlowDown,
  assessStop,
} from "./assessments.ts";

export interface ClientCheck {
  /** Stable ID for scripts. */
  readonly id: string;
  readonly scenario: string;
  readonly summary: string;
  readonly basis: string;
  readonly assess: Assessor;
}

type CheckRow = readonly [id: string, summary: string, basis: string, assess: Assessor];

const encodingBasis = "RFC 8628, 3.1 and 3.4; the routing service also accepts JSON";
const secretsBasis = "RFC 8628, 5.2; every user of a machine can read arguments";
const adviceBasis = "recommended by svc; not required by RFC 8628";

const createEndChecks = (scenario: string, error: string): readonly CheckRow[] => [
  [`${scenario}.stops`, `Stops polling at ${error}`, "RFC 8628, 3.5", assessStop(error)],
  [`${scenario}.exit-code`, `Exits with a non-zero code at ${error}`, adviceBasis, assessExitCode(error)],
];

const createDisturbanceChecks = (scenario: string, event: string): readonly CheckRow[] => [
  [`${scenario}.continues`, `Polls again after ${event}`, adviceBasis, assessContinuation(event)],
];

const checksByScenario = Object.entries<readonly CheckRow[]>({
  approval: [
    ["request.encoding", "Sends POST requests with application/x-www-form-urlencoded", encodingBasis, assessEncoding],
    ["request.fields", "Sends client_id, grant_type and device_code", "RFC 8628, 3.1 and 3.4", assessFields],
    ["shown.code", "Shows the user code", "RFC 8628, 3.3", assessShownCode],
    ["shown.address", "Shows the verification address", "RFC 8628, 3.3", assessShownAddress],
    ["poll.interval", "Polls no faster than the interval", "RFC 8628, 3.2 and 3.5", assessInterval],
    ["approval.tokens", "Accepts the tokens, and stops polling", "RFC 8628, 3.5", assessDelivery],
    ["secrets.arguments", "Passes no device code or token as a process argument", secretsBasis, assessSecrets],
  ],
  "slow-down": [
    ["slow-down.added", "Adds 5 s at slow_down", "RFC 8628, 3.5", assessSlowDown],
    ["slow-down.for-good", "Keeps the longer interval for all later polls", "RFC 8628, 3.5", assessLastingSlowDown],
    ["slow-down.each", "Adds another 5 s at each slow_down", "RFC 8628, 3.5", assessRepeatedSlowDown],
  ],
  expired: createEndChecks("expired", "expired_token"),
  denied: createEndChecks("denied", "access_denied"),
  reset: createDisturbanceChecks("reset", "a connection reset"),
  "html-503": createDisturbanceChecks("html-503", "a 503 with an HTML page"),
  "lost-response": createDisturbanceChecks("lost-response", "a response that breaks off"),
});

/** All checks, in the order of the report. */
export const clientChecks: readonly ClientCheck[] = checksByScenario.flatMap(([scenario, rows]) =>
  rows.map(([id, summary, basis, assess]) => ({ id, scenario, summary, basis, assess })),
);
