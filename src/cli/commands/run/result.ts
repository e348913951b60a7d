import type { StepKind } from "./schema.ts";

/** One thing that is not as a step expects it. */
export interface Mismatch {
  readonly message: string;
  /** Where that is expected, in the file. */
  readonly line: number;
  readonly column: number;
}

/** Result of one step. */
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
  /** Output of a command, or response of a service. */
  readonly output: string;
  /** A command's messages to people. */
  readonly notes: string;
  /** The command line; omitted for steps of another kind. */
  readonly command?: string;
  readonly exit?: number;
}

/** An observed value instead of the one that a file expects there. */
export interface SeenValue {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Result of one scenario. It contains no secrets. */
export interface ScenarioResult {
  readonly file: string;
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly steps: readonly StepResult[];
  /** How many steps of the file were not run. */
  readonly skipped: number;
  /** What the user can do about a failure; undefined if nothing is known. */
  readonly hint?: string | undefined;
  /** Subject of the trace: `T-1`; undefined without one. */
  readonly traced?: string | undefined;
  /** Lines of the trace of events. */
  readonly trace: readonly string[];
  /** The text that `--update` writes. */
  readonly seen: readonly SeenValue[];
}
