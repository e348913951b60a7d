import type { StepKind } from "./schema.ts";

export interface Mismatch {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

export interface StepResult {
  /** Example: `3`; `4.2.1` is the first step of the second iteration of a loop. */
  readonly number: string;
  readonly kind: StepKind;
  readonly title: string;
  /** A short summary: `201 T-1`. */
  readonly outcome: string;
  readonly line: number;
  readonly ok: boolean;
  readonly problems: readonly Mismatch[];
  /** Virtual time after the step. */
  readonly at: string;
  readonly seconds: number;
  readonly output: string;
  readonly notes: string;
  /** The command line; absent for other kinds of steps. */
  readonly command?: string;
  readonly exit?: number;
}

/** An observed value that replaces an expected one. */
export interface SeenValue {
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
  /** How to fix the failure; undefined if unknown. */
  readonly hint?: string | undefined;
  /** Subject of the trace: `T-1`; undefined without one. */
  readonly traced?: string | undefined;
  /** Lines of the event trace. */
  readonly trace: readonly string[];
  /** The text that `--update` writes. */
  readonly seen: readonly SeenValue[];
}
