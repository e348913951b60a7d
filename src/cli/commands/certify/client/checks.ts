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

const adviceBasis = "recommended by svc; not required by RFC 8628";

const finalErrors = [
  ["expired", "expired_token"],
  ["denied", "access_denied"],
] as const;

const disturbances = [
  ["reset", "a connection reset"],
  ["html-503", "a 503 with an HTML page"],
  ["lost-answer", "a response that breaks off"],
] as const;

/** All checks, in the order of the report. */
export const clientChecks: readonly ClientCheck[] = [
  {
    id: "request.encoding",
    scenario: "approval",
    summary: "Sends POST requests with application/x-www-form-urlencoded",
    basis: "RFC 8628, 3.1 and 3.4; the routing service also accepts JSON",
    assess: assessEncoding,
  },
  {
    id: "request.fields",
    scenario: "approval",
    summary: "Sends client_id, grant_type and device_code",
    basis: "RFC 8628, 3.1 and 3.4",
    assess: assessFields,
  },
  {
    id: "shown.code",
    scenario: "approval",
    summary: "Shows the user code",
    basis: "RFC 8628, 3.3",
    assess: assessShownCode,
  },
  {
    id: "shown.address",
    scenario: "approval",
    summary: "Shows the verification address",
    basis: "RFC 8628, 3.3",
    assess: assessShownAddress,
  },
  {
    id: "poll.interval",
    scenario: "approval",
    summary: "Polls no faster than the interval",
    basis: "RFC 8628, 3.2 and 3.5",
    assess: assessInterval,
  },
  {
    id: "approval.tokens",
    scenario: "approval",
    summary: "Accepts the tokens, and stops polling",
    basis: "RFC 8628, 3.5",
    assess: assessDelivery,
  },
  {
    id: "secrets.arguments",
    scenario: "approval",
    summary: "Passes no device code or token as a process argument",
    basis: "RFC 8628, 5.2; every user of a machine can read arguments",
    assess: assessSecrets,
  },
  {
    id: "slow-down.added",
    scenario: "slow-down",
    summary: "Adds 5 s at slow_down",
    basis: "RFC 8628, 3.5",
    assess: assessSlowDown,
  },
  {
    id: "slow-down.for-good",
    scenario: "slow-down",
    summary: "Keeps the longer interval for all later polls",
    basis: "RFC 8628, 3.5",
    assess: assessLastingSlowDown,
  },
  {
    id: "slow-down.each",
    scenario: "slow-down",
    summary: "Adds another 5 s at each slow_down",
    basis: "RFC 8628, 3.5",
    assess: assessRepeatedSlowDown,
  },
  ...finalErrors.flatMap(([scenario, error]): readonly ClientCheck[] => [
    {
      id: `${scenario}.stops`,
      scenario,
      summary: `Stops polling at ${error}`,
      basis: "RFC 8628, 3.5",
      assess: assessStop(error),
    },
    {
      id: `${scenario}.exit-code`,
      scenario,
      summary: `Exits with a non-zero code at ${error}`,
      basis: adviceBasis,
      assess: assessExitCode(error),
    },
  ]),
  ...disturbances.map(
    ([scenario, event]): ClientCheck => ({
      id: `${scenario}.continues`,
      scenario,
      summary: `Polls again after ${event}`,
      basis: adviceBasis,
      assess: assessContinuation(event),
    }),
  ),
];
