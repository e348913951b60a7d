import { csvLine } from "../output/text.ts";
import type { Batch, InvalidRow } from "./batches.ts";

/** One row of the results (cli-conventions.md, 50). */
export interface ResultRow {
  readonly row: number;
  readonly input: string;
  readonly status: "ok" | "invalid" | "failed";
  readonly code: string;
  readonly message: string;
}

export const resultColumns = ["row", "input", "status", "code", "message"] as const;

export const resultsHeader: string = csvLine(resultColumns);

export const resultLine = (result: ResultRow): string => csvLine(resultColumns.map((name) => String(result[name])));

export const invalidResult = ({ number, text, problem }: InvalidRow): ResultRow => ({
  row: number,
  input: text,
  status: "invalid",
  code: "invalid_identifier",
  message: problem,
});

/** The results of one batch as lines of CSV: those with trouble, or all. */
export function resultLines(
  { rows, invalid }: Batch,
  refusal: { readonly code: string; readonly message: string } | undefined,
  kept: "errors" | "all",
): string {
  const lines = invalid.map((row) => resultLine(invalidResult(row)));
  if (refusal !== undefined || kept === "all") {
    const rest = refusal
      ? ({ status: "failed", ...refusal } as const)
      : ({ status: "ok", code: "", message: "" } as const);
    for (const { number, text } of rows()) lines.push(resultLine({ row: number, input: text, ...rest }));
  }
  return lines.join("");
}
