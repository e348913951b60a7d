/** Figures with a goal, printed one per line. `run.ts` parses the lines. */

export type Goal = `${">=" | "<=" | "<"} ${number}` | "";

/** Prints a figure. Several values are printed as their median and their spread. */
export function reportFigure(label: string, values: number | readonly number[], goal: Goal): void {
  const all = [values].flat().toSorted((a, b) => a - b);
  const spread = all.length > 1 ? `  (${all[0]!.toFixed(2)} to ${all.at(-1)!.toFixed(2)})` : "";
  process.stdout.write(`${label.padEnd(88)} ${computeMedian(all).toFixed(2).padStart(7)}  ${goal}${spread}\n`);
}

/** Prints a note without a goal. */
export const writeNote = (text: string): void => void process.stdout.write(`    ${text}\n`);

export const computeMedian = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/**
 * Measures functions alternately, so that disturbances affect all of them. The first rounds only warm up. Returns one
 * list per function.
 */
export async function runAlternately<const Works extends readonly (() => Promise<number> | number)[]>(
  rounds: number,
  works: Works,
  warming = 1,
): Promise<{ readonly [K in keyof Works]: number[] }> {
  const measured = works.map((): number[] => []);
  for (let round = 0; round < warming + rounds; round += 1) {
    for (const [i, work] of works.entries()) {
      const value = await work();
      if (round >= warming) measured[i]!.push(value);
    }
  }
  return measured as unknown as { readonly [K in keyof Works]: number[] };
}

/** Divides the values of each round. */
export const computeRatios = (numerators: readonly number[], denominators: readonly number[]): number[] =>
  numerators.map((value, round) => value / denominators[round]!);
