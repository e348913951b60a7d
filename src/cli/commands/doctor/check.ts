import type { FailureKind } from "../../process/failure.ts";

/** Result of one check. `skipped` gives the reason. */
export interface CheckResult {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly detail: string;
  /** Suggested fix. */
  readonly hint?: string | undefined;
  /** Exit code category of a failed check. */
  readonly kind?: FailureKind | undefined;
}

export const createPassed = (check: string, detail: string): CheckResult => ({ check, status: "ok", detail });
export const createWarning = (check: string, detail: string, hint?: string): CheckResult => ({
  check,
  status: "warning",
  detail,
  hint,
});
export const createFailed = (check: string, detail: string, kind: FailureKind, hint?: string): CheckResult => ({
  check,
  status: "failed",
  detail,
  hint,
  kind,
});
export const createSkipped = (check: string, detail: string): CheckResult => ({ check, status: "skipped", detail });
