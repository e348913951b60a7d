import { splitUtf8, toUtf8Error, unzip } from "./bytes.ts";
import { createCsvNotation } from "./csv.ts";
import type { MissingRowValue, RowGroup } from "./distinct.ts";
import { describeHeading, type InputFormat, isHeadingText, OtherFormatError, rejectTable } from "./format.ts";
import { type InputRecord, matchColumnName, readRecordRows, type TableNotation } from "./records.ts";

export interface RowReadOptions {
  readonly format: InputFormat;
  readonly format_guessed: boolean;
  readonly delimiter: string | null;
  /** Names of columns or NDJSON fields, or one column number from 1, joined by a space. Empty for the first column. */
  readonly columns: readonly string[];
}

/** Reads the rows of a stream in groups as they arrive, so that memory use does not grow with the input. */
export async function* readRows(
  input: AsyncIterable<Uint8Array>,
  { format, format_guessed: isGuessed, delimiter, columns }: RowReadOptions,
): AsyncGenerator<RowGroup> {
  const bytes = splitUtf8(unzip(input));
  if (format === "csv") yield* readRecordRows(createCsvNotation(bytes, delimiter), columns);
  else if (format === "tsv") yield* readRecordRows(createTsvNotation(bytes), columns);
  else if (format === "ndjson") yield* readNdjsonRows(bytes, columns);
  else yield* readLineRows(bytes, isGuessed ? (lines, top) => findHeadingProblem(lines, top, columns) : undefined);
}

function findHeadingProblem(lines: readonly string[], top: number, columns: readonly string[]): string | undefined {
  rejectTable(lines.slice(top), columns);
  const line = lines[top]!;
  return columns.length === 0 && isHeadingText(line) ? describeHeading(line) : undefined;
}

/** Creates the dialect of tab-separated cells with escapes and without quotes, as `--format tsv` writes them. */
const createTsvNotation = (bytes: AsyncIterable<Buffer>): TableNotation => ({
  records: readTsvRecords(bytes),
  decodeCell: removeEscapes,
});

async function* readTsvRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<InputRecord[]> {
  for await (const { lines } of readNumberedLines(bytes)) {
    yield lines.map((line) => {
      const raw = line.endsWith("\r") ? line.slice(0, -1) : line;
      return { record: raw.split("\t"), raw };
    });
  }
}

const escapes = /\\(?:([\\nrt])|x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]{1,6})\})/gi;
const escapeCharacters: Readonly<Record<string, string>> = Object.freeze({ "\\": "\\", n: "\n", r: "\r", t: "\t" });

function removeEscapes(cell: string): string {
  if (!cell.includes("\\")) return cell;
  return cell.replace(escapes, (match, name?: string, ...codes: (string | undefined)[]) => {
    if (name !== undefined) return escapeCharacters[name.toLowerCase()]!;
    const code = Number.parseInt(codes.slice(0, 3).find((digits) => digits !== undefined)!, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : match;
  });
}

/** Reads JSON rows: a string, or the selected fields of an object (default: its first). */
async function* readNdjsonRows(bytes: AsyncIterable<Buffer>, fields: readonly string[]): AsyncGenerator<RowGroup> {
  for await (const { first, texts: lines } of readLineRows(bytes)) {
    const problems = new Map<number, string>();
    const texts = lines.map((line, i) => {
      if (line === "") return "";
      const rowText = readNdjsonText(line, fields);
      if (typeof rowText === "string") return rowText;
      problems.set(i, rowText.problem);
      return line;
    });
    yield { first, texts, problems };
  }
}

function readNdjsonText(line: string, fields: readonly string[]): string | MissingRowValue {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: "not JSON" };
  }
  if (typeof value === "string") return value.trim() || { problem: "without a string" };
  const object = (value ?? {}) as Record<string, unknown>;
  const names = Object.keys(object);
  if (fields.length === 0 && names.length > 1 && !Array.isArray(value)) throw createSeveralFieldsError(object, names);
  const texts: string[] = [];
  for (const field of fields.length > 0 ? fields : [names[0] ?? ""]) {
    const value = object[matchColumnName(names, field, fields)];
    const isText = (typeof value === "string" && value.trim() !== "") || typeof value === "number";
    if (!isText) return { problem: `without a string in the field "${field}"` };
    texts.push(String(value).trim());
  }
  return texts.join(" ");
}

const createSeveralFieldsError = (object: Readonly<Record<string, unknown>>, names: readonly string[]): Error =>
  new OtherFormatError(`The objects of the input have several fields: ${names.slice(0, 40).join(", ")}.`, {
    flags: [],
    columns: { first: names, secondRow: names.map((name) => String(object[name])) },
    hint: "Select a field with --column.",
  });

async function* readLineRows(
  bytes: AsyncIterable<Buffer>,
  checkTop?: (lines: readonly string[], top: number) => string | undefined,
): AsyncGenerator<RowGroup> {
  let isBegun = checkTop === undefined;
  for await (const { first, lines } of readNumberedLines(bytes)) {
    for (let i = 0; i < lines.length; i += 1) lines[i] = lines[i]!.trim();
    const top = isBegun ? -1 : lines.findIndex((line) => line !== "");
    isBegun ||= top >= 0;
    const problem = top < 0 ? undefined : checkTop!(lines, top);
    yield { first, texts: lines, ...(problem === undefined ? {} : { problems: new Map([[top, problem]]) }) };
  }
}

async function* readNumberedLines(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly first: number; readonly lines: string[] }> {
  let first = 1;
  try {
    for await (const lines of readLines(bytes)) {
      yield { first, lines };
      first += lines.length;
    }
  } catch (cause) {
    throw toUtf8Error(cause, first);
  }
}

/** A byte order mark is not part of the first line. */
async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: string | undefined;
  for await (const piece of bytes) {
    // TextDecoder would create two-byte strings for ASCII, which are slower to split and hash.
    const text = piece.toString("utf8");
    const lines = (rest === undefined ? text.replace(/^\ufeff/, "") : rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  if (rest !== undefined && rest !== "") yield [rest];
}
