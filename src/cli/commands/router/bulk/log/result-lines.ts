import { join } from "node:path";
import { formatCsvLine } from "../../../../output/table.ts";
import type { InvalidRow, RowBatch } from "../input/batches.ts";

/** Columns of the results (DECISIONS.md, L17). */
export const resultColumns = ["row", "input", "status", "code", "message", "moved_from"] as const;

/** Row of the results. `moved_from` is the previous cluster of the identifier, and empty without a look-up. */
export type ResultRow = Readonly<Record<Exclude<(typeof resultColumns)[number], "row">, string>> & {
  readonly row: number;
};

export const resultsHeader: string = formatCsvLine(resultColumns);

export const formatResultLine = (result: ResultRow): string =>
  formatCsvLine(resultColumns.map((name) => String(result[name])));

export const formatInvalidRow = ({ number: row, text: input, problem: message }: InvalidRow): string =>
  formatResultLine({ row, input, status: "invalid", code: "invalid_identifier", message, moved_from: "" });

export interface RowFailure {
  readonly code: string;
  readonly message: string;
}

/** Formats the results of one batch as lines of CSV: all rows, or only those with errors. Rows have positions. */
export function formatResultLines(
  { rows, invalid }: RowBatch,
  failures: ReadonlyMap<number, RowFailure>,
  movedFrom: ReadonlyMap<number, string> | undefined,
  retention: "errors" | "all",
): string {
  const lines = invalid.map(formatInvalidRow);
  if (failures.size === 0 && retention === "errors") return lines.join("");
  for (const [position, { number: row, text: input }] of rows.entries()) {
    const failure = failures.get(position);
    const moved_from = movedFrom?.get(position) ?? "";
    if (failure) lines.push(formatResultLine({ row, input, status: "failed", ...failure, moved_from: "" }));
    else if (retention === "all")
      lines.push(formatResultLine({ row, input, status: "ok", code: "", message: "", moved_from }));
  }
  return lines.join("");
}

export const getResultsPath = (folder: string): string => join(folder, "results.csv");
