import { join } from "node:path";
import type { Context } from "../../../../command.ts";
import { escapeJson } from "../../../../output/control-characters.ts";
import { checkFields } from "../../../../output/output.ts";
import { formatCsvLine } from "../../../../output/text.ts";
import { readFileBytes } from "../input/bytes.ts";
import { parseCsvRecords } from "../input/csv.ts";
import { resultColumns, resultsHeader } from "./results.ts";

export const getResultsPath = (folder: string): string => join(folder, "results.csv");

async function* readResults(path: string): AsyncGenerator<(readonly string[])[]> {
  let isHeader = true;
  for await (const records of parseCsvRecords(readFileBytes(path))) {
    yield records.slice(isHeader ? 1 : 0).map(({ record }) => record);
    isHeader = false;
  }
}

const getColumnIndex = (name: (typeof resultColumns)[number]): number => resultColumns.indexOf(name);
const [rowAt, inputAt, statusAt] = [getColumnIndex("row"), getColumnIndex("input"), getColumnIndex("status")];
const [messageAt, movedFromAt] = [getColumnIndex("message"), getColumnIndex("moved_from")];

/** The statuses by which results can be selected. `errors` stands for all that are not `ok`. */
export const resultFilters = ["ok", "invalid", "failed", "errors"] as const;

function isSelected(record: readonly string[], filter: (typeof resultFilters)[number] | undefined): boolean {
  if (filter === undefined) return true;
  return filter === "errors" ? record[statusAt] !== "ok" : record[statusAt] === filter;
}

/** Yields the header and the rows with errors as CSV, also of a job that stores all rows. */
export async function* readErrorRows(folder: string): AsyncGenerator<Buffer> {
  yield Buffer.from(resultsHeader);
  for await (const records of readResults(getResultsPath(folder))) {
    const lines = records.filter((record) => isSelected(record, "errors")).map(formatCsvLine);
    if (lines.length > 0) yield Buffer.from(lines.join(""));
  }
}

/** Prints the results of a job while reading them, because there can be millions of rows. */
export async function showResults(
  folder: string,
  status: (typeof resultFilters)[number] | undefined,
  { output, globals }: Context,
): Promise<void> {
  const selectedFields = globals.fields ?? resultColumns;
  checkFields(selectedFields, resultColumns);
  const pickColumns = (record: readonly string[]) =>
    selectedFields.map((name) => record[getColumnIndex(name as "row")] ?? "");
  const toDocument = (record: readonly string[]) =>
    Object.fromEntries(
      pickColumns(record).map((text, i) => [selectedFields[i], selectedFields[i] === "row" ? Number(text) : text]),
    );
  const { format } = output;
  if (format === "csv" || format === "tsv") await output.printRows([selectedFields]);
  let count = 0;
  for await (const records of readResults(getResultsPath(folder))) {
    const matching = records.filter((record) => isSelected(record, status));
    if (matching.length === 0) continue;
    if (format === "json") await output.printContent([formatPiece(matching.map(toDocument), count === 0)], true);
    else if (format === "ndjson") for (const record of matching) await output.printDocument(toDocument(record));
    else await output.printRows(matching.map(pickColumns));
    count += matching.length;
  }
  if (format === "json") await output.printContent([Buffer.from(count === 0 ? "[]\n" : "\n]\n")]);
  else if (count === 0 && format === "table")
    await output.note(
      status === undefined ? "No rows" : status === "errors" ? "No rows with errors" : `No rows with status ${status}`,
    );
}

const formatPiece = (documents: readonly unknown[], isFirst: boolean): Buffer =>
  Buffer.from(
    documents
      .map((document, i) => `${isFirst && i === 0 ? "[" : ","}\n  ${escapeJson(JSON.stringify(document))}`)
      .join(""),
  );

interface TallyReason {
  readonly status: string;
  readonly reason: string;
  rows: number;
  readonly first_row: number;
}

export interface ResultTally {
  readonly reasons: readonly Readonly<TallyReason>[];
  readonly moves: ReadonlyMap<string, number>;
}

/** Maximum number of distinct reasons, because services can word each rejection differently. */
const maxReasons = 100;

export async function tallyResults(folder: string): Promise<ResultTally> {
  const reasons = new Map<string, TallyReason>();
  const moves = new Map<string, number>();
  for await (const records of readResults(getResultsPath(folder))) {
    for (const record of records) {
      const status = record[statusAt] ?? "";
      const from = record[movedFromAt] ?? "";
      if (from !== "") moves.set(from, (moves.get(from) ?? 0) + 1);
      if (status === "ok") continue;
      const message = record[messageAt] ?? "";
      const reason = reasons.size < maxReasons || reasons.has(`${status} ${message}`) ? message : "other reasons";
      const group = reasons.get(`${status} ${reason}`);
      if (group) group.rows += 1;
      else reasons.set(`${status} ${reason}`, { status, reason, rows: 1, first_row: Number(record[rowAt]) });
    }
  }
  return { reasons: [...reasons.values()].sort((a, b) => b.rows - a.rows), moves };
}

export async function* readMovedRows(folder: string): AsyncGenerator<{ readonly text: string; readonly from: string }> {
  for await (const records of readResults(getResultsPath(folder))) {
    for (const record of records) {
      const from = record[movedFromAt] ?? "";
      if (from !== "" && record[statusAt] === "ok") yield { text: record[inputAt] ?? "", from };
    }
  }
}
