import type { ScenarioResult } from "./run-scenario.ts";

/** `not_checked`: the run does not show it. `warning`: allowed, and yet likely to hurt. */
export type CheckStatus = "passed" | "failed" | "not_checked" | "warning";

export interface Assessment {
  readonly verdict: CheckStatus;
  /** What was seen, one sentence. */
  readonly detail: string;
  /** What to change. */
  readonly fix?: string;
}

/** Assesses one rule by what a run of the client showed. */
export type Assess = (result: ScenarioResult) => Assessment;
