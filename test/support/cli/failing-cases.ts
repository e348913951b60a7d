import type { RunResult } from "./run-cli.ts";

/**
 * Runs a check on many cases, several at once, and returns the failing ones. Tests compare the result with an empty
 * table.
 */
export async function findFailingCases<T>(
  cases: readonly T[],
  name: (example: T) => string,
  look: (example: T) => Promise<string | undefined>,
  atOnce = 8,
): Promise<Record<string, string>> {
  const failures: Record<string, string> = {};
  const remaining = [...cases];
  const worker = async () => {
    for (let example = remaining.shift(); example !== undefined; example = remaining.shift()) {
      const wrong = await look(example);
      if (wrong !== undefined) failures[name(example)] = wrong;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return failures;
}

export const formatRunResult = ({ exit, stdout, stderr }: RunResult): string =>
  `exit ${exit}, out ${JSON.stringify(stdout.slice(0, 200))}, err ${JSON.stringify(stderr.slice(0, 400))}`;
