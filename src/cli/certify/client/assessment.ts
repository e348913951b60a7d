import type { CheckResult } from "../check.ts";
import type { ScenarioResult } from "./run-scenario.ts";

export interface Assessment {
  readonly result: CheckResult;
  /** What was seen, one sentence. */
  readonly detail: string;
  /** What to change. */
  readonly fix?: string;
}

/** Assesses one rule by what a run of the client showed. */
export type Assess = (result: ScenarioResult) => Assessment;
