import type { CheckResult } from "../check.ts";
import type { ScenarioResult } from "./run-scenario.ts";

export interface Assessment {
  readonly result: CheckResult;
  /** The observation, one sentence. */
  readonly detail: string;
  /** The advice. */
  readonly fix?: string;
}

/** Assesses one rule by what a run of the client showed. */
export type Assess = (result: ScenarioResult) => Assessment;
