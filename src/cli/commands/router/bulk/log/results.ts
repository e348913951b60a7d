import { join } from "node:path";
import type { Context } from "../../../../command.ts";
import { escapeJson } from "../../../../output/control-characters.ts";
import { checkFields } from "../../../../output/output.ts";
import { formatCsvLine } from "../../../../output/text.ts";
import type { InvalidRow, RowBatch } from "../input/batches.ts";
import { readFileBytes } from "../input/bytes.ts";
import { parseCsvRecords } from "../input/csv.ts";
import type { RejectedRange } from "../send.ts";

/** Columns of the results (DECISIONS.md, L17). */
const resultColumns = ["row", "input", "status", "code", "message", "moved_from"] as const;

/** Row of the results. `moved_from` is the previous cluster of the identifier, and empty without a look-up. */
export type ResultRow = Readonly<Record<Exclude<(typeof resultColumns)[number], "row">, string>> & {
  readonly row: number;
};

export const resultsHeader: string = formatCsvLine(resultColumns);

export const formatResultLine = (result: ResultRow): string =>
  formatCsvLine(resultColumns.map((name) => String(result[name])));

export const isResultsFile = (beginning: string): boolean => beginning.startsWith(resultsHeader);

export const formatInvalidRow = ({ number: row, text: input, problem: message }: InvalidRow): string =>
  formatResultLine({ row, input, status: "invalid", code: "invalid_identifier", message, moved_from: "" });

/** Results of the valid rows of a batch, by their positions. */
interface BatchOutcome {
  readonly rejected: readonly RejectedRange[];
  /** Unexpected results of the later look-up. */
  readonly mismatches: ReadonlyMap<number, string>;
  readonly movedFrom: ReadonlyMap<number, string>;
}

/** Formats the results of one batch as lines of CSV: all rows, or only those with errors. */
export function formatResultLines(
  { rows, invalid }: RowBatch,
  { rejected, mismatches, movedFrom }: BatchOutcome,
  retention: "errors" | "all",
): string {
  const lines = invalid.map(formatInvalidRow);
  if (rejected.length === 0 && mismatches.size === 0 && retention === "errors") return lines.join("");
  for (const [position, { number, text: input }] of rows.entries()) {
    const error = rejected.find(({ from, to }) => position >= from && position < to)?.error;
    const mismatch = mismatches.get(position);
    const result = { row: number, input, status: "ok", code: "", message: "", moved_from: "" };
    if (error) {
      const { code = `http_${error.status}`, message } = error.problem;
      lines.push(formatResultLine({ ...result, status: "failed", code, message }));
    } else if (mismatch !== undefined)
      lines.push(formatResultLine({ ...result, status: "failed", code: "not_verified", message: mismatch }));
    else if (retention === "all")
      lines.push(formatResultLine({ ...result, moved_from: movedFrom.get(position) ?? "" }));
  }
  return lines.join("");
}

export const getResultsPath = (folder: string): string => join(folder, "results.csv");

async function* readResults(folder: string): AsyncGenerator<ResultRow[]> {
  let isHeader = true;
  for await (const records of parseCsvRecords(readFileBytes(getResultsPath(folder)))) {
    yield records.slice(isHeader ? 1 : 0).map(({ record: [row, ...texts] }) => {
      const [input = "", status = "", code = "", message = "", moved_from = ""] = texts;
      return { row: Number(row), input, status, code, message, moved_from };
    });
    isHeader = false;
  }
}

/** The statuses by which results can be selected. `errors` stands for all that are not `ok`. */
export const resultFilters = ["ok", "invalid", "failed", "errors"] as const;

type ResultFilter = (typeof resultFilters)[number] | undefined;

const isSelected = ({ status }: ResultRow, filter: ResultFilter): boolean =>
  filter === undefined || (filter === "errors" ? status !== "ok" : status === filter);

/** Yields the header and the rows with errors as CSV, also of a job that stores all rows. */
export async function* readErrorRows(folder: string): AsyncGenerator<Buffer> {
  yield Buffer.from(resultsHeader);
  for await (const rows of readResults(folder)) {
    const lines = rows.filter((row) => isSelected(row, "errors")).map(formatResultLine);
    if (lines.length > 0) yield Buffer.from(lines.join(""));
  }
}

/** Prints the results of a job while reading them, because there can be millions of rows. */
export async function showResults(folder: string, status: ResultFilter, { output, globals }: Context): Promise<void> {
  const selectedFields = globals.fields ?? resultColumns;
  checkFields(selectedFields, resultColumns);
  const { format } = output;
  if (format === "csv" || format === "tsv") await output.printRows([selectedFields]);
  let isEmpty = true;
  for await (const rows of readResults(folder)) {
    const matching = rows.filter((row) => isSelected(row, status));
    if (matching.length === 0) continue;
    const cells = matching.map((row) => selectedFields.map((name) => row[name as "row"]));
    const documents = cells.map((values) => Object.fromEntries(values.map((value, i) => [selectedFields[i], value])));
    if (format === "json") {
      const texts = documents.map((document) => `\n  ${escapeJson(JSON.stringify(document))}`);
      await output.printContent([Buffer.from((isEmpty ? "[" : ",") + texts.join(","))], true);
    } else if (format === "ndjson") for (const document of documents) await output.printDocument(document);
    else await output.printRows(cells.map((values) => values.map(String)));
    isEmpty = false;
  }
  if (format === "json") await output.printContent([Buffer.from(isEmpty ? "[]\n" : "\n]\n")]);
  else if (isEmpty && format === "table")
    await output.note(
      status === undefined ? "No rows" : status === "errors" ? "No rows with errors" : `No rows with status ${status}`,
    );
}

interface ReasonCount {
  readonly status: string;
  readonly reason: string;
  rows: number;
  readonly first_row: number;
}

/** Maximum number of distinct reasons, because services can word each rejection differently. */
const maxReasons = 100;

/** Counts the rows of a job by the reason of their failure, and by their previous cluster. */
export async function tallyResults(folder: string) {
  const reasons = new Map<string, ReasonCount>();
  const moves = new Map<string, number>();
  for await (const rows of readResults(folder)) {
    for (const { row, status, message, moved_from: from } of rows) {
      if (from !== "") moves.set(from, (moves.get(from) ?? 0) + 1);
      if (status === "ok") continue;
      const reason = reasons.size < maxReasons || reasons.has(`${status} ${message}`) ? message : "other reasons";
      const group = reasons.get(`${status} ${reason}`);
      if (group) group.rows += 1;
      else reasons.set(`${status} ${reason}`, { status, reason, rows: 1, first_row: row });
    }
  }
  return { reasons: [...reasons.values()].sort((a, b) => b.rows - a.rows), moves };
}

/** Yields the rows that a job moved from another cluster. */
export async function* readMovedRows(folder: string): AsyncGenerator<ResultRow> {
  for await (const rows of readResults(folder))
    yield* rows.filter(({ status, moved_from }) => status === "ok" && moved_from !== "");
}
