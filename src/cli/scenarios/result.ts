import type { StepKind } from "./schema.ts";

/** One thing that is not as a step expects it. */
export interface Mismatch {
  readonly message: string;
  /** Where that is expected, in the file. */
  readonly line: number;
  readonly column: number;
}

/** What came of one step. */
export interface StepResult {
  /** `3`; `4.2.1` is the first step of the second round of a loop. */
  readonly number: string;
  readonly kind: StepKind;
  readonly title: string;
  /** In a few words: `201 T-1`. */
  readonly outcome: string;
  readonly line: number;
  readonly ok: boolean;
  readonly problems: readonly Mismatch[];
  /** Virtual time after it. */
  readonly at: string;
  readonly seconds: number;
  /** What a command printed, or a service answered. */
  readonly output: string;
  /** What a command said to people. */
  readonly notes: string;
  /** The command line; omitted for steps of another kind. */
  readonly command?: string;
  readonly exit?: number;
}

/** A value that was seen instead of what a file expects there. */
export interface SeenValue {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** What came of one scenario. It holds no secrets. */
export interface ScenarioResult {
  readonly file: string;
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly steps: readonly StepResult[];
  /** How many steps of the file were not run. */
  readonly skipped: number;
  /** What the trace is of: `T-1`; undefined without one. */
  readonly traced?: string | undefined;
  /** Lines of the trace of what happened. */
  readonly trace: readonly string[];
  /** What `--update` writes. */
  readonly seen: readonly SeenValue[];
}
