import type { Context } from "../../../../command.ts";
import { escapeJson } from "../../../../output/control-characters.ts";
import { checkFields } from "../../../../output/output.ts";
import { readFileBytes } from "../input/bytes.ts";
import { parseCsvRecords } from "../input/csv.ts";
import { getResultsPath } from "../job.ts";
import { resultColumns } from "./results.ts";

/** Prints the results of a job while reading them, because they may have millions of rows. */
export async function showResults(
  folder: string,
  status: string | undefined,
  { output, globals }: Context,
): Promise<void> {
  const chosen = globals.fields ?? resultColumns;
  checkFields(chosen, resultColumns);
  const pickColumns = (record: readonly string[]) =>
    chosen.map((name) => record[resultColumns.indexOf(name as "row")] ?? "");
  const toDocument = (record: readonly string[]) =>
    Object.fromEntries(pickColumns(record).map((text, i) => [chosen[i], chosen[i] === "row" ? Number(text) : text]));
  const { format } = output;
  if (format === "csv" || format === "tsv") await output.printRows([chosen]);
  let count = 0;
  let isHeader = true;
  for await (const records of parseCsvRecords(readFileBytes(getResultsPath(folder)))) {
    const read = records.slice(isHeader ? 1 : 0).map(({ record }) => record);
    const matching = read.filter((record) => status === undefined || record[2] === status);
    isHeader = false;
    if (matching.length === 0) continue;
    if (format === "json") await output.printContent([formatPiece(matching.map(toDocument), count === 0)], true);
    else if (format === "ndjson") for (const record of matching) await output.printDocument(toDocument(record));
    else await output.printRows(matching.map(pickColumns));
    count += matching.length;
  }
  if (format === "json") await output.printContent([Buffer.from(count === 0 ? "[]\n" : "\n]\n")]);
  else if (count === 0 && format === "table")
    await output.note(status === undefined ? "No rows" : `No rows with status ${status}`);
}

/** Formats part of one long array. */
const formatPiece = (documents: readonly unknown[], isFirst: boolean): Buffer =>
  Buffer.from(
    documents.map((one, i) => `${isFirst && i === 0 ? "[" : ","}\n  ${escapeJson(JSON.stringify(one))}`).join(""),
  );
