import { testSecret } from "./command-lines.ts";
import { formatRunResult } from "./failing-cases.ts";
import type { RunResult } from "./run-cli.ts";

interface ErrorDocument {
  readonly error: {
    readonly message: string;
    readonly hint: string | null;
    readonly details?: readonly string[];
    readonly next: readonly unknown[];
    readonly retryable: boolean;
    readonly exitCode: number;
  };
}

export interface ExpectedError {
  readonly exit: number;
  readonly message: RegExp;
  /** Whether data can have been printed before the failure. */
  readonly streams?: boolean;
}

const hasStack = (text: string): boolean => /Unexpected error|\n {4}at /.test(text);

/** Removes the warning about a secret on the command line, which cannot be silenced. */
export const removeSecretWarning = (result: RunResult): RunResult => ({
  ...result,
  stderr: result.stderr.replace(/^warning: other users can read --[\w-]+ on the command line; use .*\n/gm, ""),
});

/**
 * Returns the defect of a failure under --json, or undefined. The expected output is one line of JSON on standard error
 * with the problem and a hint, and no data, stack trace or secret.
 */
export function findJsonErrorDefect(
  result: RunResult,
  { exit, message, streams = false }: ExpectedError,
): string | undefined {
  const { stdout, stderr } = removeSecretWarning(result);
  if (`${stdout}${stderr}`.includes(testSecret)) return `tells a secret: ${formatRunResult(result)}`;
  const isOneLine = stderr.indexOf("\n") === stderr.length - 1 && stderr.startsWith('{"error":');
  if (!isOneLine || (stdout !== "" && !streams)) return formatRunResult(result);
  const { error } = JSON.parse(stderr) as ErrorDocument;
  // A failure with an unknown outcome must not be retried without a check, so it exits with 1.
  const due = error.hint?.includes("may have taken effect") ? 1 : exit;
  const isTold = message.test(error.message) && !hasStack(error.message) && error.exitCode === due;
  const hasWayOn = error.hint !== null || error.next.length > 0;
  if (error.retryable !== (result.exit === 75)) return formatRunResult(result);
  return result.exit === due && isTold && hasWayOn ? undefined : formatRunResult(result);
}

/**
 * Returns the defect of a failure in text output, or undefined. The expected output is one message that begins with
 * `error: `.
 */
export function findTextErrorDefect(
  result: RunResult,
  { exit, message, streams = false }: ExpectedError,
): string | undefined {
  const { stdout, stderr } = result;
  if (`${stdout}${stderr}`.includes(testSecret)) return `tells a secret: ${formatRunResult(result)}`;
  const errors = stderr.split("\n").filter((line) => line.startsWith("error: "));
  const isTold = errors.length === 1 && message.test(stderr) && !hasStack(stderr);
  const due = stderr.includes("may have taken effect") ? 1 : exit;
  return result.exit === due && isTold && (stdout === "" || streams) ? undefined : formatRunResult(result);
}
