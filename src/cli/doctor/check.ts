import type { FailureKind } from "../failure.ts";

/** What one check found. `skipped` says why it could not be made. */
export interface Finding {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly detail: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** What it means for the exit code; only of failed ones. */
  readonly verdict?: FailureKind | undefined;
}

export const ok = (check: string, detail: string): Finding => ({ check, status: "ok", detail });
export const warning = (check: string, detail: string, hint?: string): Finding => ({
  check,
  status: "warning",
  detail,
  hint,
});
export const failed = (check: string, detail: string, verdict: FailureKind, hint?: string): Finding => ({
  check,
  status: "failed",
  detail,
  hint,
  verdict,
});
export const skipped = (check: string, detail: string): Finding => ({ check, status: "skipped", detail });
