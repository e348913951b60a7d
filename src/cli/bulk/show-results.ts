import type { Context } from "../command.ts";
import { checkFields } from "../output/output.ts";
import { csvLine, tsvLine } from "../output/text.ts";
import { fileBytes } from "./bytes.ts";
import { csvRecords } from "./csv.ts";
import { resultsPath } from "./job.ts";
import { resultColumns } from "./results.ts";

/** Prints the results of a job as they are read: there may be as many as the job had rows. */
export async function showResults(
  folder: string,
  status: string | undefined,
  { output, globals }: Context,
): Promise<void> {
  const chosen = globals.fields ?? resultColumns;
  checkFields(chosen, resultColumns);
  const picked = (record: readonly string[]) => chosen.map((name) => record[resultColumns.indexOf(name as "row")]!);
  const document = (record: readonly string[]) =>
    JSON.stringify(
      Object.fromEntries(picked(record).map((text, i) => [chosen[i], chosen[i] === "row" ? Number(text) : text])),
    );
  const { format } = output;
  if (format === "csv" || format === "tsv") await output.raw((format === "csv" ? csvLine : tsvLine)(chosen));
  let count = 0;
  let isHeader = true;
  for await (const records of csvRecords(fileBytes(resultsPath(folder)))) {
    let text = "";
    for (const record of records) {
      if (isHeader || (status !== undefined && record[2] !== status)) {
        isHeader = false;
        continue;
      }
      if (format === "json") text += `${count === 0 ? "[" : ","}\n  ${document(record)}`;
      else if (format === "ndjson") text += `${document(record)}\n`;
      else text += (format === "csv" ? csvLine : tsvLine)(picked(record));
      count += 1;
    }
    if (text !== "") await output.raw(text);
  }
  if (format === "json") await output.raw(count === 0 ? "[]\n" : "\n]\n");
  else if (count === 0 && format === "table") await output.note("No such rows");
}
