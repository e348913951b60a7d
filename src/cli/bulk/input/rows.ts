import { unzip } from "./bytes.ts";
import type { InputFormat } from "./format.ts";
import { headingProblem, isHeadingText } from "./heading.ts";
import { lineRows } from "./lines.ts";
import { ndjsonRows } from "./ndjson.ts";
import { rejectTable } from "./other-format.ts";
import { recordRows } from "./records.ts";
import type { RowGroup } from "./row-group.ts";
import { createTsvNotation } from "./tsv.ts";
import { splitUtf8 } from "./utf8.ts";

export interface RowReadOptions {
  readonly format: InputFormat;
  /** Whether nobody has named the format: lines may be something else then. */
  readonly format_guessed: boolean;
  /** What stands between the cells of CSV; null: a comma. */
  readonly delimiter: string | null;
  /** Names of columns or NDJSON fields, or one column number from 1; joined by a space. Empty: the first. */
  readonly columns: readonly string[];
}

/** The rows of a stream, in groups as they arrive, so that memory stays flat whatever the size. */
export async function* readRows(
  input: AsyncIterable<Uint8Array>,
  { format, format_guessed: isGuessed, delimiter, columns }: RowReadOptions,
): AsyncGenerator<RowGroup> {
  const bytes = splitUtf8(unzip(input));
  if (format === "csv") yield* recordRows((await import("./csv.ts")).createCsvNotation(bytes, delimiter), columns);
  else if (format === "tsv") yield* recordRows(createTsvNotation(bytes), columns);
  else if (format === "ndjson") yield* ndjsonRows(bytes, columns);
  else yield* lineRows(bytes, isGuessed ? (lines, top) => topProblem(lines, top, columns) : undefined);
}

function topProblem(lines: readonly string[], top: number, columns: readonly string[]): string | undefined {
  rejectTable(lines.slice(top), columns);
  const line = lines[top]!;
  return columns.length === 0 && isHeadingText(line) ? headingProblem(line) : undefined;
}
