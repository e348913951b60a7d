/** Figures that are checked by their goal: a line each, which `run.ts` reads. */

export type Goal = `${">=" | "<=" | "<"} ${number}` | "";

/** Prints a figure; of several values the median, and how far apart they lie. */
export function figure(what: string, values: number | readonly number[], goal: Goal): void {
  const all = [values].flat().toSorted((a, b) => a - b);
  const spread = all.length > 1 ? `  (${all[0]!.toFixed(2)} to ${all.at(-1)!.toFixed(2)})` : "";
  process.stdout.write(`${what.padEnd(88)} ${median(all).toFixed(2).padStart(7)}  ${goal}${spread}\n`);
}

/** Further figures, which nothing is demanded of. */
export const note = (text: string): void => void process.stdout.write(`    ${text}\n`);

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Measures in turns, so that what disturbs one disturbs the other; the first ones only warm. One list for each. */
export async function inTurns<const Works extends readonly (() => Promise<number> | number)[]>(
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

/** Of each round, the one by the other. */
export const ratios = (of: readonly number[], by: readonly number[]): number[] =>
  of.map((value, round) => value / by[round]!);
