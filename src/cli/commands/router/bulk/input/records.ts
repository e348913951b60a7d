import { lookupTable } from "../../../../../base/object.ts";
import { UsageError } from "../../../../process/failure.ts";
import { toUtf8Error } from "./bytes.ts";
import { describeHeading, isHeadingText, OtherFormatError } from "./format.ts";

/** Row of the input that is not blank. */
export interface InputRow {
  /** Number of its line, as in an editor. */
  readonly number: number;
  /** Identifier, or the whole row if there is a problem. */
  readonly text: string;
  /** Reason why the row has no identifier. */
  readonly problem?: string;
}

/** Cells of one row and the line or lines from which it was read. */
export interface InputRecord {
  readonly record: readonly string[];
  readonly raw: string;
}

export interface TableNotation {
  readonly records: AsyncIterable<readonly InputRecord[]>;
  readonly decodeCell: (cell: string) => string;
  /** Explains a read error. The invalid row begins in that line. */
  readonly explainError?: (cause: unknown, line: number) => unknown;
  /** Returns an error if the first row was split at the wrong separator, and undefined otherwise. */
  readonly findOtherFormat?: (first: readonly string[], message: string | undefined) => OtherFormatError | undefined;
  /** Reports whether a line is a directive about the format and not a row. */
  readonly isDirective?: (raw: string) => boolean;
}

/** Reads the rows of a table: the selected columns of each record, or the first one. */
export async function* readRecordRows(notation: TableNotation, columns: readonly string[]): AsyncGenerator<InputRow[]> {
  const { decodeCell } = notation;
  const isNumbered = columns.length === 1 && /^[1-9]\d*$/.test(columns[0]!);
  let columnIndexes = columns.length === 0 ? [0] : isNumbered ? [Number(columns[0]) - 1] : undefined;
  let number = 1;
  let isBegun = false;
  try {
    for await (const records of notation.records) {
      const rows: InputRow[] = [];
      for (let i = 0; i < records.length; i += 1) {
        const { record, raw } = records[i]!;
        const isDirective: boolean = !isBegun && notation.isDirective?.(raw) === true;
        const isFirstRow: boolean = !isBegun && !isDirective && record.some((cell) => cell.trim() !== "");
        isBegun ||= isFirstRow;
        if (isFirstRow && columns.length === 0)
          rejectUnnamedColumn(record.map(decodeCell), records[i + 1]?.record.map(decodeCell) ?? [], notation);
        if (isFirstRow && columnIndexes === undefined)
          columnIndexes = findColumns(columns, record.map(decodeCell), notation);
        else if (columnIndexes !== undefined && !isDirective) {
          const texts = columnIndexes.map((columnIndex) => decodeCell(record[columnIndex] ?? "").trim());
          const missing = texts.indexOf("");
          const text = missing < 0 ? texts.join(" ") : getRawText(record, raw);
          if (missing >= 0) {
            const problem = `without a string in ${formatColumnName(columns[missing])}`;
            if (text !== "") rows.push({ number, text, problem });
          } else if (isFirstRow && isHeadingText(text)) rows.push({ number, text, problem: describeHeading(text) });
          else rows.push({ number, text });
        }
        number += countLines(record);
      }
      yield rows;
    }
  } catch (cause) {
    const error = toUtf8Error(cause, number);
    throw notation.explainError?.(error, number) ?? error;
  }
}

/** A row of empty cells is not a blank line, even if only blanks separate them. */
const getRawText = (record: readonly string[], raw: string): string =>
  raw.trim() || (record.length > 1 ? raw.replace(/\r?\n$/, "") : "");

const formatColumnName = (name: string | undefined): string =>
  name === undefined ? "the first column" : `the column "${name}"`;

const countLines = (record: readonly string[]): number =>
  record.reduce((sum, cell) => (cell.includes("\n") ? sum + cell.split("\n").length - 1 : sum), 1);

const otherNames = lookupTable({ kind: "table", identifier: "key" });

export function matchColumnName(names: readonly string[], column: string, columns: readonly string[]): string {
  return columns.length > 1 && !names.includes(column) ? (otherNames[column] ?? column) : column;
}

function findColumns(
  columns: readonly string[],
  header: readonly string[],
  { findOtherFormat }: TableNotation,
): number[] {
  const names = header.map((name) => name.trim());
  return columns.map((column) => {
    const name = matchColumnName(names, column, columns);
    const columnIndex = names.indexOf(name);
    if (columnIndex < 0)
      throw findOtherFormat?.(header, `Column "${column}" not found`) ?? createUnknownColumnError(column, header);
    const duplicate = names.indexOf(name, columnIndex + 1);
    if (duplicate < 0) return columnIndex;
    throw new OtherFormatError(`Columns ${columnIndex + 1} and ${duplicate + 1} have the same name, "${column}".`, {
      flags: columns.length === 1 ? ["--column", String(columnIndex + 1)] : [],
      hint: "Select one by its number.",
    });
  });
}

const createUnknownColumnError = (column: string, header: readonly string[]): Error =>
  new UsageError(`Column "${column}" not found`, { hint: `Columns: ${formatHeader(header)}` });

const formatHeader = (header: readonly string[]): string => header.slice(0, 40).join(", ");

/** Rejects the implicit use of the first of several columns, and of a whole row as one cell. */
function rejectUnnamedColumn(
  firstRow: readonly string[],
  secondRow: readonly string[],
  { findOtherFormat }: TableNotation,
): void {
  const otherFormat = findOtherFormat?.(/^sep=.?$/.test(firstRow[0] ?? "") ? secondRow : firstRow, undefined);
  if (otherFormat) throw otherFormat;
  const names = firstRow.filter((cell) => cell.trim() !== "");
  if (names.length < 2) return;
  throw new OtherFormatError(`The input has ${firstRow.length} columns: ${formatHeader(firstRow)}.`, {
    flags: [],
    columns: { first: firstRow, secondRow },
    hint: "Select a column with --column.",
  });
}

/** Creates the notation of tab-separated cells with escapes and without quotes, as `--format tsv` writes them. */
export const createTsvNotation = (bytes: AsyncIterable<Buffer>): TableNotation => ({
  records: splitTsvRecords(bytes),
  decodeCell: removeEscapes,
});

async function* splitTsvRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<InputRecord[]> {
  for await (const lines of readLines(bytes)) {
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

/** Splits a stream into lines, in groups as they arrive. A byte order mark is not part of the first line. */
export async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
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
