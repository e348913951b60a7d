import { splitUtf8, toUtf8Error, unzip } from "./bytes.ts";
import { createCsvNotation } from "./csv.ts";
import { describeHeading, type InputFormat, isHeadingText, OtherFormatError, rejectTable } from "./format.ts";
import { createTsvNotation, type InputRow, matchColumnName, readLines, readRecordRows } from "./records.ts";

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
): AsyncGenerator<InputRow[]> {
  const bytes = splitUtf8(unzip(input));
  if (format === "csv") yield* readRecordRows(createCsvNotation(bytes, delimiter), columns);
  else if (format === "tsv") yield* readRecordRows(createTsvNotation(bytes), columns);
  else if (format === "lines") yield* isGuessed ? rejectHeading(readLineRows(bytes), columns) : readLineRows(bytes);
  else
    for await (const rows of readLineRows(bytes))
      yield rows.map(({ number, text }) => ({ number, ...readNdjsonLine(text, columns) }));
}

async function* readLineRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<InputRow[]> {
  let number = 0;
  try {
    for await (const lines of readLines(bytes)) {
      const rows: InputRow[] = [];
      for (const line of lines) {
        number += 1;
        const text = line.trim();
        if (text !== "") rows.push({ number, text });
      }
      yield rows;
    }
  } catch (cause) {
    throw toUtf8Error(cause, number + 1);
  }
}

/** Rejects a table, and marks a heading as invalid. */
async function* rejectHeading(
  groups: AsyncIterable<InputRow[]>,
  columns: readonly string[],
): AsyncGenerator<InputRow[]> {
  let isBegun = false;
  for await (const rows of groups) {
    const [first, second] = isBegun ? [] : rows;
    isBegun ||= rows.length > 0;
    if (first) rejectTable(first.text, second?.text ?? "", columns);
    if (first && columns.length === 0 && isHeadingText(first.text))
      rows[0] = { ...first, problem: describeHeading(first.text) };
    yield rows;
  }
}

/** Reads a JSON row: a string, or the selected fields of an object (default: its first). */
function readNdjsonLine(line: string, fields: readonly string[]): Omit<InputRow, "number"> {
  const reject = (problem: string) => ({ text: line, problem });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return reject("not JSON");
  }
  if (typeof value === "string") return value.trim() === "" ? reject("without a string") : { text: value.trim() };
  const object = (value ?? {}) as Record<string, unknown>;
  const names = Object.keys(object);
  if (fields.length === 0 && names.length > 1 && !Array.isArray(value)) throw createSeveralFieldsError(object, names);
  const texts: string[] = [];
  for (const field of fields.length > 0 ? fields : [names[0] ?? ""]) {
    const value = object[matchColumnName(names, field, fields)];
    const isText = (typeof value === "string" && value.trim() !== "") || typeof value === "number";
    if (!isText) return reject(`without a string in the field "${field}"`);
    texts.push(String(value).trim());
  }
  return { text: texts.join(" ") };
}

const createSeveralFieldsError = (object: Readonly<Record<string, unknown>>, names: readonly string[]): Error =>
  new OtherFormatError(`The objects of the input have several fields: ${names.slice(0, 40).join(", ")}.`, {
    flags: [],
    columns: { first: names, secondRow: names.map((name) => String(object[name])) },
    hint: "Select a field with --column.",
  });
