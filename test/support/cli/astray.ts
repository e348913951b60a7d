import type { RunResult } from "./run-cli.ts";

/** Looks at many cases, some at once, and keeps what is not as it should be: an empty table is what tests want. */
export async function astray<T>(
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

export const printedBy = ({ exit, out, err }: RunResult): string =>
  `exit ${exit}, out ${JSON.stringify(out.slice(0, 200))}, err ${JSON.stringify(err.slice(0, 400))}`;
