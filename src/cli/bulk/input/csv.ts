import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { UsageError } from "../../failure.ts";

const groupSize = 1_000;

const otherFormats = "If its rows are written in another way, say so: --input-format ndjson or lines.";

/** The records of a CSV stream (RFC 4180), in groups. */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[][]> {
  const parser = parse({ bom: true, relax_column_count: true });
  const source = Readable.from(bytes);
  source.on("error", (error) => parser.destroy(error));
  let group: string[][] = [];
  try {
    for await (const record of source.pipe(parser)) {
      group.push(record as string[]);
      if (group.length === groupSize) {
        yield group;
        group = [];
      }
    }
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`The CSV cannot be read: ${(cause as Error).message}`, { hint: otherFormats, cause });
  }
  if (group.length > 0) yield group;
}
