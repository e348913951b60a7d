import type { StepKind } from "./schema.ts";

export interface ExpectationMismatch {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

export interface StepResult {
  /** Example: `3`. The first step of the second iteration of a loop is `4.2.1`. */
  readonly number: string;
  readonly kind: StepKind;
  readonly title: string;
  /** Short summary, such as `201 T-1`. */
  readonly outcome: string;
  readonly line: number;
  readonly ok: boolean;
  readonly problems: readonly ExpectationMismatch[];
  /** Virtual time after the step. */
  readonly at: string;
  readonly seconds: number;
  readonly output: string;
  readonly notes: string;
  /** Command line. Absent for other kinds of steps. */
  readonly command?: string;
  readonly exit?: number;
}

/** Observed value that replaces an expected value. */
export interface ObservedValue {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Result of one scenario, without secrets. */
export interface ScenarioResult {
  readonly file: string;
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly steps: readonly StepResult[];
  /** Number of steps that were not run. */
  readonly skipped: number;
  /** Hint how to fix the failure. Undefined if unknown. */
  readonly hint?: string | undefined;
  /** Subject of the trace, such as `T-1`. Undefined without a trace. */
  readonly traced?: string | undefined;
  /** Lines of the event trace. */
  readonly trace: readonly string[];
  /** Observed values that `--update` writes. */
  readonly seen: readonly ObservedValue[];
}
