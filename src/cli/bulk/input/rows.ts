import { StringDecoder } from "node:string_decoder";
import { UsageError } from "../../failure.ts";
import { unzipped } from "./bytes.ts";

/** Rows that follow each other. Row numbers count from 1; an empty text is a row that is passed over. */
export interface RowGroup {
  /** Number of the first. */
  readonly first: number;
  readonly texts: readonly string[];
  /** Why a row has no text, by its place in the group. */
  readonly problems?: ReadonlyMap<number, string>;
}

export const inputFormats = ["lines", "csv", "ndjson"] as const;
export type InputFormat = (typeof inputFormats)[number];

export interface ReadOptions {
  readonly format: InputFormat;
  /** Names of CSV columns or NDJSON fields, or one column number from 1; joined by a space. Empty: the first. */
  readonly columns: readonly string[];
}

/** The format by the name of the file: `.csv`, `.ndjson` or `.jsonl`, each also with `.gz`. */
export function formatByName(path: string): InputFormat {
  const name = path.toLowerCase().replace(/\.gz$/, "");
  if (name.endsWith(".csv")) return "csv";
  return name.endsWith(".ndjson") || name.endsWith(".jsonl") ? "ndjson" : "lines";
}

/** The rows of a stream, in groups as they arrive, so that memory stays flat whatever the size. */
export async function* rowsOf(
  input: AsyncIterable<Uint8Array>,
  { format, columns }: ReadOptions,
): AsyncGenerator<RowGroup> {
  const bytes = unzipped(input);
  if (format === "csv") yield* csvRows(bytes, columns);
  else if (format === "ndjson") yield* ndjsonRows(bytes, columns);
  else yield* lineRows(bytes);
}

async function* lineRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<RowGroup> {
  let first = 1;
  for await (const lines of linesOf(bytes)) {
    for (let i = 0; i < lines.length; i += 1) lines[i] = lines[i]!.trim();
    yield { first, texts: lines };
    first += lines.length;
  }
}

async function* ndjsonRows(bytes: AsyncIterable<Uint8Array>, fields: readonly string[]): AsyncGenerator<RowGroup> {
  for await (const { first, texts: lines } of lineRows(bytes)) {
    const problems = new Map<number, string>();
    const texts = lines.map((line, i) => {
      if (line === "") return "";
      const found = ndjsonText(line, fields);
      if (typeof found === "string") return found;
      problems.set(i, found.problem);
      return line;
    });
    yield { first, texts, problems };
  }
}

function ndjsonText(line: string, fields: readonly string[]): string | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: "not JSON" };
  }
  if (typeof value === "string") return value.trim();
  const object = (value ?? {}) as Record<string, unknown>;
  const texts: string[] = [];
  for (const field of fields.length > 0 ? fields : [Object.keys(object)[0] ?? ""]) {
    const found = object[field];
    const isText = (typeof found === "string" && found.trim() !== "") || typeof found === "number";
    if (!isText) return { problem: `without a text in the field "${field}"` };
    texts.push(String(found).trim());
  }
  return texts.join(" ");
}

async function* csvRows(bytes: AsyncIterable<Uint8Array>, columns: readonly string[]): AsyncGenerator<RowGroup> {
  const { csvRecords } = await import("./csv.ts");
  const isNumbered = columns.length === 1 && /^[1-9]\d*$/.test(columns[0]!);
  let places = columns.length === 0 ? [0] : isNumbered ? [Number(columns[0]) - 1] : undefined;
  let first = 1;
  for await (const records of csvRecords(bytes)) {
    const header = places === undefined;
    places ??= placesOf(columns, records[0]!);
    const chosen = places;
    const texts = records.map((record) =>
      chosen
        .map((place) => record[place]?.trim() ?? "")
        .join(" ")
        .trim(),
    );
    if (header) texts[0] = "";
    yield { first, texts };
    first += records.length;
  }
}

const placesOf = (columns: readonly string[], header: readonly string[]): number[] =>
  columns.map((column) => {
    const place = header.findIndex((name) => name.trim() === column);
    if (place >= 0) return place;
    throw new UsageError(`There is no column "${column}"`, { hint: `Columns: ${header.slice(0, 40).join(", ")}` });
  });

/** Whole lines, one group per piece of input. A mark of the byte order at the beginning is no part of the first. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  // TextDecoder would make two-byte strings of plain ASCII: slower to split and to hash.
  const decoder = new StringDecoder("utf8");
  let rest: string | undefined;
  for await (const piece of bytes) {
    const text = decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    const lines = (rest === undefined ? text.replace(/^\ufeff/, "") : rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  rest = (rest ?? "") + decoder.end();
  if (rest !== "") yield [rest];
}
