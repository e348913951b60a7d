import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { UsageError } from "../failure.ts";

/** One row of the input: its number, from 1, and the text of the identifier. */
export interface Row {
  readonly number: number;
  readonly text: string;
}

export const inputFormats = ["lines", "csv", "ndjson"] as const;
export type InputFormat = (typeof inputFormats)[number];

export interface RowsOptions {
  readonly format: InputFormat;
  /** Name of the CSV column or NDJSON field, or a column number from 1; default: the first. */
  readonly column: string | undefined;
}

/** The format by the name of the file: `.csv`, `.ndjson` or `.jsonl`, each also with `.gz`. */
export function formatByName(path: string): InputFormat {
  const name = path.toLowerCase().replace(/\.gz$/, "");
  if (name.endsWith(".csv")) return "csv";
  return name.endsWith(".ndjson") || name.endsWith(".jsonl") ? "ndjson" : "lines";
}

/**
 * The rows of a stream, in groups as they arrive, so that memory stays flat whatever the size. Empty lines are passed
 * over but counted. Gzip is recognised by its first bytes.
 */
export async function* rowsOf(input: AsyncIterable<Uint8Array>, options: RowsOptions): AsyncGenerator<readonly Row[]> {
  const bytes = unzipped(input);
  if (options.format === "csv") yield* csvRows(bytes, options.column);
  else if (options.format === "ndjson") yield* ndjsonRows(bytes, options.column);
  else yield* lineRows(bytes);
}

async function* lineRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Row[]> {
  let number = 0;
  for await (const lines of linesOf(bytes)) {
    const rows: Row[] = [];
    for (const line of lines) {
      number += 1;
      const text = line.trim();
      if (text !== "") rows.push({ number, text });
    }
    if (rows.length > 0) yield rows;
  }
}

async function* ndjsonRows(
  bytes: AsyncIterable<Uint8Array>,
  field: string | undefined,
): AsyncGenerator<readonly Row[]> {
  for await (const rows of lineRows(bytes)) {
    yield rows.map(({ number, text }) => ({ number, text: ndjsonValue(text, field, number) }));
  }
}

function ndjsonValue(line: string, field: string | undefined, number: number): string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UsageError(`Row ${number} is not JSON`);
  }
  if (typeof value === "string") return value.trim();
  const object = (value ?? {}) as Record<string, unknown>;
  const found = object[field ?? Object.keys(object)[0] ?? ""];
  if (typeof found === "string" || typeof found === "number") return String(found).trim();
  throw new UsageError(`Row ${number} has no text under "${field ?? "its first field"}"`, {
    hint: "Name the field with --column.",
  });
}

async function* csvRows(bytes: AsyncIterable<Uint8Array>, column: string | undefined): AsyncGenerator<readonly Row[]> {
  const { csvRecords } = await import("./csv.ts");
  let index: number | undefined = column === undefined ? 0 : /^\d+$/.test(column) ? Number(column) - 1 : undefined;
  const isNamed = index === undefined;
  let number = 0;
  for await (const records of csvRecords(bytes)) {
    const rows: Row[] = [];
    for (const record of records) {
      number += 1;
      if (isNamed && number === 1) {
        index = record.indexOf(column!);
        if (index < 0)
          throw new UsageError(`There is no column "${column}"`, { hint: `Columns: ${record.join(", ")}` });
        continue;
      }
      const text = record[index!]?.trim() ?? "";
      if (text !== "") rows.push({ number, text });
    }
    if (rows.length > 0) yield rows;
  }
}

/** Whole lines, one group per piece of input. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}

async function* unzipped(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = input[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) return;
  const rest = (async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) {
    yield* rest;
    return;
  }
  const gunzip = createGunzip();
  pipeline(Readable.from(rest), gunzip, () => {});
  try {
    yield* gunzip;
  } catch (cause) {
    throw new UsageError("The gzip file is damaged or cut off", { cause });
  }
}
