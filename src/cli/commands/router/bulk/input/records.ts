import { lookupTable } from "../../../../../base/object.ts";
import { UsageError } from "../../../../process/failure.ts";
import type { MissingRowValue, RowGroup } from "./distinct.ts";
import { describeHeading, isHeadingText, OtherFormatError } from "./format.ts";

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
export async function* readRecordRows(notation: TableNotation, columns: readonly string[]): AsyncGenerator<RowGroup> {
  const { records: groups, decodeCell, explainError } = notation;
  const isNumbered = columns.length === 1 && /^[1-9]\d*$/.test(columns[0]!);
  let columnIndexes = columns.length === 0 ? [0] : isNumbered ? [Number(columns[0]) - 1] : undefined;
  let first = 1;
  let isBegun = false;
  try {
    for await (const records of groups) {
      const texts: string[] = [];
      const problems = new Map<number, string>();
      for (let i = 0; i < records.length; i += 1) {
        const { record, raw } = records[i]!;
        const isDirective: boolean = !isBegun && notation.isDirective?.(raw) === true;
        const isFirstRow: boolean = !isBegun && !isDirective && record.some((cell) => cell.trim() !== "");
        if (isFirstRow && columns.length === 0)
          rejectUnnamedColumn(record.map(decodeCell), records[i + 1]?.record.map(decodeCell) ?? [], notation);
        const isHeader: boolean = isFirstRow && columnIndexes === undefined;
        if (isHeader) columnIndexes = findColumns(columns, record.map(decodeCell), notation);
        isBegun ||= isFirstRow;
        const rowText =
          isHeader || isDirective || columnIndexes === undefined
            ? ""
            : recordText(record, columnIndexes, columns, decodeCell);
        if (typeof rowText !== "string") problems.set(texts.length, rowText.problem);
        else if (isFirstRow && isHeadingText(rowText)) problems.set(texts.length, describeHeading(rowText));
        texts.push(typeof rowText === "string" ? rowText : getRawText(record, raw));
        // The field spans several lines.
        for (let missingLines = countLines(record); missingLines > 1; missingLines -= 1) texts.push("");
      }
      yield { first, texts, problems };
      first += texts.length;
    }
  } catch (cause) {
    throw explainError?.(cause, first) ?? cause;
  }
}

function recordText(
  record: readonly string[],
  columnIndexes: readonly number[],
  columns: readonly string[],
  text: TableNotation["decodeCell"],
): string | MissingRowValue {
  const texts = columnIndexes.map((columnIndex) => text(record[columnIndex] ?? "").trim());
  const missing = texts.indexOf("");
  if (missing < 0) return texts.join(" ");
  return { problem: `without a string in ${formatColumnName(columns[missing])}` };
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
