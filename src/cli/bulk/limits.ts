import { UsageError } from "../failure.ts";

/** How many rows may go wrong before a job stops. */
export interface ErrorLimit {
  readonly text: string;
  /** Whether so many of so many rows are too many. */
  exceeded(errors: number, rows: number): boolean;
}

/** Percentages of few rows say nothing. */
const meaningfulRows = 1_000;

/** `100` or `2%` (DECISIONS.md, L17); a usage error otherwise. `total` where all rows are known. */
export function parseErrorLimit(text: string, total?: number): ErrorLimit {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  if (number === undefined || (percent === "" && number.includes("."))) {
    throw new UsageError(`--max-errors must be a number or a percentage (10, 2%), got "${text}"`);
  }
  const bound = Number(number);
  if (percent === "") return { text, exceeded: (errors) => errors > bound };
  return {
    text,
    exceeded: (errors, rows) => {
      const of = total ?? (rows < meaningfulRows ? undefined : rows);
      return of !== undefined && errors > (of * bound) / 100;
    },
  };
}
