import type { RunResult } from "./run-cli.ts";

/**
 * Runs a check on many cases, several at once, and returns the failing ones. Tests compare the result with an empty
 * table.
 */
export async function findFailingCases<T>(
  cases: readonly T[],
  name: (one: T) => string,
  look: (one: T) => Promise<string | undefined>,
  atOnce = 8,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const left = [...cases];
  const worker = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const wrong = await look(one);
      if (wrong !== undefined) found[name(one)] = wrong;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return found;
}

export const formatRunResult = ({ exit, stdout, stderr }: RunResult): string =>
  `exit ${exit}, out ${JSON.stringify(stdout.slice(0, 200))}, err ${JSON.stringify(stderr.slice(0, 400))}`;
