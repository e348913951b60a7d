import { lookupTable } from "../../../base/lookup-table.ts";
import { UsageError } from "../../failure.ts";
import type { RowGroup, WithoutText } from "./row-group.ts";

/** The cells of one row, with the line, or the lines, that it was read of. */
export interface InputRecord {
  readonly record: readonly string[];
  readonly raw: string;
}

/** How a table is written in a file. */
export interface Notation {
  readonly records: AsyncIterable<readonly InputRecord[]>;
  /** What a cell says. */
  readonly text: (cell: string) => string;
  /** What reading failed with, in words; the row with the trouble begins in that line. */
  readonly trouble: (cause: unknown, line: number) => unknown;
  /** What may help where the heading has no such column. */
  readonly hint: (header: readonly string[]) => string | undefined;
}

/** The rows of a table: of each record the columns that are named, by name or by number, else the first. */
export async function* recordRows(notation: Notation, columns: readonly string[]): AsyncGenerator<RowGroup> {
  const { records: groups, text, trouble } = notation;
  const isNumbered = columns.length === 1 && /^[1-9]\d*$/.test(columns[0]!);
  let places = columns.length === 0 ? [0] : isNumbered ? [Number(columns[0]) - 1] : undefined;
  let first = 1;
  let isBegun = false;
  try {
    for await (const records of groups) {
      const texts: string[] = [];
      const problems = new Map<number, string>();
      const empty = new Set<number>();
      for (const { record, raw } of records) {
        const isTop: boolean = !isBegun && record.some((cell) => cell.trim() !== "");
        const isHeader: boolean = isTop && places === undefined;
        if (isHeader) places = placesOf(columns, record.map(text), notation);
        isBegun ||= isTop;
        const found = isHeader || places === undefined ? "" : recordText(record, places, columns, text);
        if (typeof found !== "string") {
          problems.set(texts.length, found.problem);
          if (found.isEmpty) empty.add(texts.length);
        } else if (isTop && heading.test(found)) {
          problems.set(texts.length, headingProblem(found, columns.length === 0 ? record.map(text) : [found]));
        }
        texts.push(typeof found === "string" ? found : rawText(record, raw));
        // A field over several lines.
        for (let more = linesIn(record); more > 1; more -= 1) texts.push("");
      }
      yield { first, texts, problems, empty };
      first += texts.length;
    }
  } catch (cause) {
    throw trouble(cause, first);
  }
}

function recordText(
  record: readonly string[],
  places: readonly number[],
  columns: readonly string[],
  text: Notation["text"],
): string | WithoutText {
  const texts = places.map((place) => text(record[place] ?? "").trim());
  const missing = texts.indexOf("");
  if (missing < 0) return texts.join(" ");
  return {
    problem: `without a text in ${columnName(columns[missing])}`,
    isEmpty: texts.every((found) => found === ""),
  };
}

/** A row of empty cells is no blank line, also where nothing but blanks stands between them. */
const rawText = (record: readonly string[], raw: string): string =>
  raw.trim() || (record.length > 1 ? raw.replace(/\r?\n$/, "") : "");

const columnName = (name: string | undefined): string =>
  name === undefined ? "the first column" : `the column "${name}"`;

const linesIn = (record: readonly string[]): number =>
  record.reduce((sum, cell) => (cell.includes("\n") ? sum + cell.split("\n").length - 1 : sum), 1);

/** No service hands out such words as identifiers; taken for one, the heading would be mapped. */
const heading =
  /^(?:[a-z]{1,20}[ _-]){0,3}(?:e-?mail|address|id|uuid|token|team|client|user|identifier|key|hash|kind)s?$/i;

/** Of several columns the first is not the one that is meant, only because it comes first. */
const headingProblem = (text: string, all: readonly string[]): string =>
  all.length === 1
    ? `the heading of its column: name it, with --column "${text}"`
    : `a heading: name the column that is meant with --column, of ${listed(all)}`;

/** Whether a row was refused as the heading: who leaves it out takes the first column, whatever it holds. */
export const isHeading = (problem: string): boolean => problem.includes("with --column");

const listed = (header: readonly string[]): string => header.slice(0, 40).join(", ");

/** As svc router resolve calls the columns that a command names itself. */
const otherNames = lookupTable({ kind: "table", identifier: "key" });

/** The name that a table has for a column. */
export function nameAmong(names: readonly string[], column: string, columns: readonly string[]): string {
  return columns.length > 1 && !names.includes(column) ? (otherNames[column] ?? column) : column;
}

const placesOf = (columns: readonly string[], header: readonly string[], { hint }: Notation): number[] =>
  columns.map((column) => {
    const names = header.map((name) => name.trim());
    const place = names.indexOf(nameAmong(names, column, columns));
    if (place >= 0) return place;
    const known = `Columns: ${listed(header)}`;
    throw new UsageError(`There is no column "${column}"`, { hint: hint(header) ?? known });
  });
