import { CsvError, Parser } from "csv-parse";
import { restoreExactNumbers, toPlainNumbers } from "../../../../../base/json.ts";
import type { JobPlan } from "../plan.ts";
import {
  explainReadError,
  findColumns,
  findHeadingProblem,
  matchColumnName,
  maxRecordBytes,
  rejectTable,
  rejectUnnamedColumn,
  rejectUnnamedField,
} from "./format.ts";
import { maxPieceBytes, readTextLines } from "./source.ts";

/** Row of the input that is not blank. */
export interface InputRow {
  /** Number of its line, as in an editor. */
  readonly number: number;
  /** Identifier, or the whole row if there is a problem. */
  readonly text: string;
  /** Reason why the row has no identifier. */
  readonly problem?: string;
  /** Whether the problem is that the row is the heading of its column. */
  readonly isHeading?: boolean;
}

type RowReadOptions = Pick<JobPlan, "format" | "format_guessed" | "delimiter" | "columns">;

/** Line of the input that is read next. */
interface Position {
  line: number;
}

/** Reads the rows of a stream in groups as they arrive, so that memory use does not grow with the input. */
export async function* readRows(input: AsyncIterable<Uint8Array>, options: RowReadOptions): AsyncGenerator<InputRow[]> {
  const bytes = readTextLines(input);
  const position: Position = { line: 1 };
  const { format, columns } = options;
  try {
    if (format === "csv")
      yield* readTable(parseCsvRecords(bytes, options.delimiter ?? ",", maxRecordBytes), options, position);
    else if (format === "tsv") yield* readTable(splitTsvRecords(bytes), options, position);
    else if (format === "lines") yield* readLineRows(bytes, options, position);
    else
      for await (const rows of readLineRows(bytes, options, position))
        yield rows.map(({ number, text }) => ({ number, ...readNdjsonLine(text, columns) }));
  } catch (cause) {
    throw explainReadError(cause, position.line);
  }
}

const removeLineEnd = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

/** Decodes groups of lines. A byte order mark is not part of the first line. */
async function* splitLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let isBegun = false;
  for await (const piece of bytes) {
    // TextDecoder would create two-byte strings for ASCII, which are slower to split and hash.
    const text = piece.toString("utf8");
    const lines = (isBegun ? text : text.replace(/^\ufeff/, "")).split("\n");
    isBegun = true;
    if (lines.at(-1) === "") lines.pop();
    yield lines;
  }
}

/**
 * Joins the first groups until they have three rows, however they arrive: the heading is checked together with the row
 * below it, and Excel can write a line above both. Rows before an error are complete.
 */
async function* joinFirstRows<Row>(groups: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  let firstRows: readonly Row[] | undefined = [];
  try {
    for await (const rows of groups) {
      const joined: readonly Row[] = firstRows === undefined ? rows : [...firstRows, ...rows];
      firstRows = firstRows === undefined || joined.length > 2 ? undefined : joined;
      if (firstRows === undefined) yield joined;
    }
  } catch (cause) {
    if (firstRows?.length) yield firstRows;
    throw cause;
  }
  if (firstRows?.length) yield firstRows;
}

/** Lines whose format was guessed must not look like a table, and the first one must not be a heading. */
async function* readLineRows(
  bytes: AsyncIterable<Buffer>,
  { format, format_guessed, columns }: RowReadOptions,
  position: Position,
): AsyncGenerator<InputRow[]> {
  let isChecked = format !== "lines" || !format_guessed;
  for await (const lines of joinFirstRows(splitLines(bytes))) {
    const rows: InputRow[] = [];
    for (const line of lines) {
      const text = removeLineEnd(line);
      if (text.trim() !== "") rows.push({ number: position.line, text });
      position.line += 1;
    }
    const [first, second] = isChecked ? [] : rows;
    if (first) {
      isChecked = true;
      rejectTable(first.text.trim(), second?.text ?? "", columns);
      if (columns.length === 0) rows[0] = { ...first, ...findHeadingProblem(first.text.trim()) };
    }
    yield rows;
  }
}

/** Reads a JSON row: a string, or the selected fields of an object (default: its first). */
function readNdjsonLine(line: string, fields: readonly string[]): Omit<InputRow, "number"> {
  const reject = (problem: string) => ({ text: line, problem });
  let value: unknown;
  try {
    value = JSON.parse(line);
    if (typeof value === "object") value = restoreExactNumbers(line, value);
  } catch {
    // Such as a row that nests too deeply.
    return reject("not JSON");
  }
  if (typeof value === "string") return value.trim() === "" ? reject("without a string") : { text: value };
  const object: Record<string, unknown> = Object(value);
  if (fields.length === 0 && !Array.isArray(value)) rejectUnnamedField(object);
  const names = Object.keys(object);
  const texts: string[] = [];
  for (const field of fields.length > 0 ? fields : [names[0] ?? ""]) {
    const value = object[matchColumnName(names, field, fields)];
    const isText = (typeof value === "string" && value.trim() !== "") || typeof toPlainNumbers(value) === "number";
    if (!isText) return reject(`without a string in the field "${field}"`);
    texts.push(String(value));
  }
  return { text: texts.join(" ") };
}

/** Cells of one row and the line or lines from which it was read. */
interface InputRecord {
  readonly record: readonly string[];
  readonly raw: string;
}

/** Reads the rows of a table: the selected columns of each record, or the first one. */
async function* readTable(
  groups: AsyncIterable<readonly InputRecord[]>,
  { format, delimiter, columns }: RowReadOptions,
  position: Position,
): AsyncGenerator<InputRow[]> {
  const decode = format === "tsv" ? removeEscapes : (cell: string) => cell;
  const mayHaveOtherDelimiter = format === "csv" && delimiter === null;
  const isNumbered = columns.length === 1 && /^[1-9]\d*$/.test(columns[0]!);
  let columnIndexes = columns.length === 0 ? [0] : isNumbered ? [Number(columns[0]) - 1] : undefined;
  let isBegun = false;

  /** Returns undefined for a blank line. */
  const readRecord = ({ record, raw }: InputRecord, number: number, indexes: readonly number[]) => {
    const texts = indexes.map((index) => decode(record[index] ?? ""));
    const missing = texts.findIndex((text) => text.trim() === "");
    if (missing < 0) return { number, text: texts.join(" ") };
    // A row of empty cells is not a blank line, even if only blanks separate them.
    const text = raw.trim() || (record.length > 1 ? raw.replace(/\r?\n$/, "") : "");
    const column = columns[missing] === undefined ? "the first column" : `the column "${columns[missing]}"`;
    return text === "" ? undefined : { number, text, problem: `without a string in ${column}` };
  };

  for await (const records of joinFirstRows(groups)) {
    const rows: InputRow[] = [];
    for (let i = 0; i < records.length; i += 1) {
      const { record, raw } = records[i]!;
      const number = position.line;
      position.line += countLines(record);
      // Excel writes this line and skips it when reading.
      if (!isBegun && raw.trim() === `sep=${delimiter ?? ","}`) continue;
      const isFirst: boolean = !isBegun && record.some((cell) => cell.trim() !== "");
      isBegun ||= isFirst;
      if (isFirst && columns.length === 0)
        rejectUnnamedColumn([record.map(decode), records[i + 1]?.record.map(decode) ?? []], mayHaveOtherDelimiter);
      if (columnIndexes === undefined) {
        if (isFirst) columnIndexes = findColumns(columns, record.map(decode), mayHaveOtherDelimiter);
        continue;
      }
      const row: InputRow | undefined = readRecord(records[i]!, number, columnIndexes);
      if (row === undefined) continue;
      const heading = isFirst && row.problem === undefined ? findHeadingProblem(row.text.trim()) : undefined;
      // Only a number can select a column whose name is not unique.
      const isHeading = heading && isNumbered && hasRepeatedCell(record.map(decode), row.text);
      if (!isHeading) rows.push(heading ? { ...row, ...heading } : row);
    }
    yield rows;
  }
}

const hasRepeatedCell = (cells: readonly string[], text: string): boolean =>
  cells.filter((cell) => cell.trim() === text.trim()).length > 1;

const countLines = (record: readonly string[]): number =>
  record.reduce((sum, cell) => (cell.includes("\n") ? sum + cell.split("\n").length - 1 : sum), 1);

/**
 * Parses the records of a CSV stream (RFC 4180) in groups, one per piece of complete lines. Records before an error are
 * complete, because their number of lines shows where the error begins.
 */
export async function* parseCsvRecords(pieces: AsyncIterable<Uint8Array>, delimiter = ",", maxBytes = 0) {
  const parser = new RecordParser(delimiter, maxBytes);
  try {
    for await (const lines of pieces) {
      // A table whose lines end with CR is one piece.
      for (let at = 0; at < lines.byteLength; at += maxPieceBytes) {
        await parser.parsePiece(lines.subarray(at, at + maxPieceBytes));
        if (parser.records.length > 0) yield parser.records.splice(0);
      }
    }
    await parser.parsePiece(null);
  } catch (cause) {
    // The parser stores the last line until it sees the next one.
    if (!(cause instanceof CsvError)) await parser.parsePiece(null).catch(() => {});
    if (parser.records.length > 0) yield parser.records;
    throw cause;
  }
  if (parser.records.length > 0) yield parser.records;
}

/** Parser that collects the records, because reading them one by one from a stream costs more than parsing. */
class RecordParser extends Parser {
  readonly records: InputRecord[] = [];

  constructor(delimiter: string, max_record_size: number) {
    // The raw text distinguishes an empty line from a line with an empty quoted field. Without a list, the parser would
    // expect the first line end everywhere, and join rows that another program appended.
    const record_delimiter = ["\r\n", "\n", "\r"];
    super({ bom: true, relax_column_count: true, raw: true, delimiter, record_delimiter, max_record_size });
    // `parsePiece` handles the error.
    this.on("error", () => {});
  }

  override push(record: InputRecord | null): boolean {
    if (record !== null) this.records.push(record);
    return true;
  }

  parsePiece(piece: Uint8Array | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error | null) => (error ? reject(error) : resolve());
      if (piece) this.write(piece, settle);
      else this.end(settle);
    });
  }
}

/** Splits tab-separated cells with escapes and without quotes, as `--format tsv` writes them. */
async function* splitTsvRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<InputRecord[]> {
  for await (const lines of splitLines(bytes)) {
    yield lines.flatMap((line) => {
      const rows = removeLineEnd(line).split("\r");
      return rows.map((raw) => ({ record: raw.split("\t"), raw }));
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
