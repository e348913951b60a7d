import { join } from "node:path";
import type { Context } from "../../../../command.ts";
import { escapeJson } from "../../../../output/control-characters.ts";
import { checkFields } from "../../../../output/output.ts";
import { formatCsvLine } from "../../../../output/table.ts";
import type { InvalidRow, RowBatch } from "../input/batches.ts";
import { parseCsvRecords } from "../input/rows.ts";
import { readFileBytes } from "../input/source.ts";

/** Columns of the results (DECISIONS.md, L17). */
const resultColumns = ["row", "input", "status", "code", "message", "moved_from"] as const;

/** Row of the results. `moved_from` is the previous cluster of the identifier, and empty without a look-up. */
type ResultRow = Readonly<Record<Exclude<(typeof resultColumns)[number], "row">, string>> & { readonly row: number };

export const resultsHeader: string = formatCsvLine(resultColumns);

export const formatResultLine = (result: ResultRow): string =>
  formatCsvLine(resultColumns.map((name) => String(result[name])));

export const formatInvalidRow = ({ number: row, text: input, problem: message }: InvalidRow): string =>
  formatResultLine({ row, input, status: "invalid", code: "invalid_identifier", message, moved_from: "" });

/** Reason why a valid row failed. */
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

/** Yields the results of a job in groups while reading them, because there can be millions of rows. */
export async function* readResults(folder: string): AsyncGenerator<ResultRow[]> {
  let isHeader = true;
  for await (const records of parseCsvRecords(readFileBytes(getResultsPath(folder)))) {
    yield records.slice(isHeader ? 1 : 0).map(({ record: [row, ...texts] }) => {
      const [input = "", status = "", code = "", message = "", moved_from = ""] = texts;
      return { row: Number(row), input, status, code, message, moved_from };
    });
    isHeader = false;
  }
}

/** Yields the header and the rows with errors as CSV, also of a job that stores all rows. */
export async function* readErrorRows(folder: string): AsyncGenerator<Buffer> {
  yield Buffer.from(resultsHeader);
  for await (const rows of readResults(folder))
    yield Buffer.from(
      rows
        .filter(({ status }) => status !== "ok")
        .map(formatResultLine)
        .join(""),
    );
}

/** The statuses by which results can be selected. `errors` stands for all that are not `ok`. */
export const resultFilters = ["ok", "invalid", "failed", "errors"] as const;

export async function showResults(
  folder: string,
  filter: (typeof resultFilters)[number] | undefined,
  { output, globals }: Context,
): Promise<void> {
  const names = globals.fields ?? resultColumns;
  checkFields(names, resultColumns);
  const { format } = output;
  if (format === "csv" || format === "tsv") await output.printRows([names]);
  let isEmpty = true;
  for await (const rows of readResults(folder)) {
    const matching = rows.filter(
      ({ status }) => filter === undefined || (filter === "errors" ? status !== "ok" : status === filter),
    );
    if (matching.length === 0) continue;
    const cells = matching.map((row) => names.map((name) => row[name as "row"]));
    const documents = cells.map((values) => Object.fromEntries(values.map((value, i) => [names[i], value])));
    if (format === "json") {
      const texts = documents.map((document) => `\n  ${escapeJson(JSON.stringify(document))}`);
      await output.printContent([Buffer.from((isEmpty ? "[" : ",") + texts.join(","))], true);
    } else if (format === "ndjson") for (const document of documents) await output.printDocument(document);
    else await output.printRows(cells.map((values) => values.map(String)));
    isEmpty = false;
  }
  if (format === "json") await output.printContent([Buffer.from(isEmpty ? "[]\n" : "\n]\n")]);
  else if (isEmpty && format === "table") {
    const selection = filter === "errors" ? " with errors" : ` with status ${filter}`;
    await output.note(`No rows${filter === undefined ? "" : selection}`);
  }
}
