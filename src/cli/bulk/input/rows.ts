import { StringDecoder } from "node:string_decoder";
import { UsageError } from "../../failure.ts";
import { unzipped } from "./bytes.ts";

/** Rows that follow each other, numbered as an editor numbers lines; an empty text is a line that is passed over. */
export interface RowGroup {
  /** Number of the first. */
  readonly first: number;
  readonly texts: readonly string[];
  /** Why a row has no text, by its place in the group. */
  readonly problems?: ReadonlyMap<number, string>;
  /** Places of the rows in which nothing stands where a text should. */
  readonly empty?: ReadonlySet<number>;
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
    const empty = new Set<number>();
    const texts = lines.map((line, i) => {
      if (line === "") return "";
      const found = ndjsonText(line, fields);
      if (typeof found === "string") return found;
      problems.set(i, found.problem);
      if (found.isEmpty) empty.add(i);
      return line;
    });
    yield { first, texts, problems, empty };
  }
}

/** Why a row has no text; `isEmpty`: nothing stands where it should. */
interface WithoutText {
  readonly problem: string;
  readonly isEmpty?: boolean;
}

function ndjsonText(line: string, fields: readonly string[]): string | WithoutText {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: "not JSON" };
  }
  if (typeof value === "string") return value.trim() || { problem: "without a text", isEmpty: true };
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
  const { csvRecords, csvTrouble } = await import("./csv.ts");
  const isNumbered = columns.length === 1 && /^[1-9]\d*$/.test(columns[0]!);
  let places = columns.length === 0 ? [0] : isNumbered ? [Number(columns[0]) - 1] : undefined;
  let first = 1;
  let isBegun = false;
  try {
    for await (const records of csvRecords(bytes)) {
      const texts: string[] = [];
      const problems = new Map<number, string>();
      const empty = new Set<number>();
      for (const { record, raw } of records) {
        const isTop: boolean = !isBegun && record.some((cell) => cell.trim() !== "");
        const isHeader: boolean = isTop && places === undefined;
        if (isHeader) places = placesOf(columns, record);
        isBegun ||= isTop;
        const found = isHeader || places === undefined ? "" : csvText(record, places, columns);
        if (typeof found !== "string") {
          problems.set(texts.length, found.problem);
          if (found.isEmpty) empty.add(texts.length);
        } else if (isTop && heading.test(found)) problems.set(texts.length, headingProblem(found));
        texts.push(typeof found === "string" ? found : raw.trim());
        // A field over several lines.
        for (let more = linesIn(record); more > 1; more -= 1) texts.push("");
      }
      yield { first, texts, problems, empty };
      first += texts.length;
    }
  } catch (cause) {
    throw csvTrouble(cause, first);
  }
}

function csvText(
  record: readonly string[],
  places: readonly number[],
  columns: readonly string[],
): string | WithoutText {
  const texts = places.map((place) => record[place]?.trim() ?? "");
  const missing = texts.indexOf("");
  if (missing < 0) return texts.join(" ");
  return { problem: `without a text in ${columnName(columns[missing])}`, isEmpty: texts.every((text) => text === "") };
}

const columnName = (name: string | undefined): string =>
  name === undefined ? "the first column" : `the column "${name}"`;

const linesIn = (record: readonly string[]): number =>
  record.reduce((sum, cell) => (cell.includes("\n") ? sum + cell.split("\n").length - 1 : sum), 1);

/** No service hands out such words as identifiers; taken for one, the heading would be mapped. */
const heading =
  /^(?:[a-z]{1,20}[ _-]){0,3}(?:e-?mail|address|id|uuid|token|team|client|user|identifier|key|hash|kind)s?$/i;

const headingProblem = (text: string): string => `the heading of its column: name it, with --column "${text}"`;

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
