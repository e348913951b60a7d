import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { UsageError } from "../../failure.ts";

const groupSize = 1_000;

const otherFormats = "If its rows are written in another way, say so: --input-format ndjson or lines.";

/** A record with the line, or the lines, that it was read of. */
export interface CsvRecord {
  readonly record: readonly string[];
  readonly raw: string;
}

/** The records of a CSV stream (RFC 4180), in groups. */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly CsvRecord[]> {
  // Without the raw text an empty line and one that holds an empty quoted field were the same.
  const parser = parse({ bom: true, relax_column_count: true, raw: true });
  const source = Readable.from(bytes);
  source.on("error", (error) => parser.destroy(error));
  let group: CsvRecord[] = [];
  let trouble: unknown;
  try {
    for await (const record of source.pipe(parser)) {
      group.push(record as CsvRecord);
      if (group.length === groupSize) {
        yield group;
        group = [];
      }
    }
  } catch (error) {
    trouble = error;
  }
  // Whole rows first: which was the last tells where the trouble begins.
  if (group.length > 0) yield group;
  if (trouble !== undefined) throw trouble;
}

/** Why it cannot be read, in words; `line` is the one after the last whole row, where the row with the trouble begins. */
export function csvTrouble(cause: unknown, line: number): unknown {
  if (!(cause instanceof CsvError)) return cause;
  // The parser names the line where the input ends.
  const why =
    cause.code === "CSV_QUOTE_NOT_CLOSED"
      ? `a quote that is opened in line ${line} or after it is not closed`
      : `${cause.message}; the row begins in line ${line}`;
  return new UsageError(`The CSV cannot be read: ${why}`, { hint: otherFormats, cause });
}
