import type { Context } from "../../../../command.ts";
import { escapeJson } from "../../../../output/control-characters.ts";
import { checkFields } from "../../../../output/output.ts";
import { parseCsvRecords } from "../input/rows.ts";
import { readFileBytes } from "../input/source.ts";
import { readJobLog } from "./job-log.ts";
import { formatResultLine, getResultsPath, type ResultRow, resultColumns, resultsHeader } from "./result-lines.ts";

/**
 * Yields the results of a job in groups while reading them, because there can be millions of rows. After the rows of
 * finished batches, the file can contain a part of a row: of a write in progress, or of one that failed.
 */
export async function* readResults(folder: string): AsyncGenerator<ResultRow[]> {
  const { results: length } = await readJobLog(folder);
  let isHeader = true;
  for await (const records of parseCsvRecords(readFileBytes(getResultsPath(folder), length))) {
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
