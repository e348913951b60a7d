import type { CheckResult } from "../check.ts";
import type { ScenarioResult } from "./run-scenario.ts";

export interface Assessment {
  readonly result: CheckResult;
  /** The observation, as one sentence. */
  readonly detail: string;
  /** Suggested fix. */
  readonly fix?: string;
}

/** Assesses one rule by a run of the client. */
export type Assess = (result: ScenarioResult) => Assessment;
