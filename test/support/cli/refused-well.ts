import { printedBy } from "./astray.ts";
import { secret } from "./command-lines.ts";
import type { RunResult } from "./run-cli.ts";

interface Told {
  readonly error: {
    readonly message: string;
    readonly hint: string | null;
    readonly details?: readonly string[];
    readonly next: readonly unknown[];
    readonly retryable: boolean;
    readonly exitCode: number;
  };
}

export interface Expected {
  readonly exit: number;
  readonly message: RegExp;
  /** Whether data may have been printed before it failed. */
  readonly streams?: boolean;
}

const hasStack = (text: string): boolean => /Unexpected error|\n {4}at /.test(text);

/** Without the warning of examples that have a secret on their command line, which nothing silences. */
export const withoutSecretWarning = (result: RunResult): RunResult => ({
  ...result,
  err: result.err.replace(/^warning: other users can read --[\w-]+ on the command line; use .*\n/gm, ""),
});

/**
 * What speaks against a failure under --json; undefined when it was told as it should be: one line of JSON on standard
 * error that says what failed and how to go on, no data, no stack and no secret.
 */
export function wrongJson(result: RunResult, { exit, message, streams = false }: Expected): string | undefined {
  const { out, err } = withoutSecretWarning(result);
  if (`${out}${err}`.includes(secret)) return `tells a secret: ${printedBy(result)}`;
  const isOneLine = err.indexOf("\n") === err.length - 1 && err.startsWith('{"error":');
  if (!isOneLine || (out !== "" && !streams)) return printedBy(result);
  const { error } = JSON.parse(err) as Told;
  // Nobody should run it again without a look.
  const due = error.hint?.includes("may have taken effect") ? 1 : exit;
  const isTold = message.test(error.message) && !hasStack(error.message) && error.exitCode === due;
  const hasWayOn = error.hint !== null || error.next.length > 0;
  if (error.retryable !== (result.exit === 75)) return printedBy(result);
  return result.exit === due && isTold && hasWayOn ? undefined : printedBy(result);
}

/** The same of what a person reads: one message, which begins with `error: `. */
export function wrongText(result: RunResult, { exit, message, streams = false }: Expected): string | undefined {
  const { out, err } = result;
  if (`${out}${err}`.includes(secret)) return `tells a secret: ${printedBy(result)}`;
  const errors = err.split("\n").filter((line) => line.startsWith("error: "));
  const isTold = errors.length === 1 && message.test(err) && !hasStack(err);
  const due = err.includes("may have taken effect") ? 1 : exit;
  return result.exit === due && isTold && (out === "" || streams) ? undefined : printedBy(result);
}
