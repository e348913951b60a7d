import { behaviorChecks, responseTimeCheck } from "./behavior-checks.ts";
import type { Check } from "./check.ts";
import { genuineCheck, genuineChecks } from "./genuine-checks.ts";
import { probeCheck, probeChecks } from "./probe-checks.ts";
import { signatureChecks } from "./signature-checks.ts";

/** All checks in execution order. Their positions number their events. */
export const allChecks: readonly Check[] = [
  genuineCheck,
  responseTimeCheck,
  probeCheck,
  ...genuineChecks,
  ...signatureChecks,
  ...behaviorChecks,
  ...probeChecks,
];
