import type { Column } from "../../api/operation.ts";
import { stringifyExact } from "../../base/json.ts";
import { escapeControlCharacters, isPrintableAscii } from "./control-characters.ts";
import { bold, dim, measureWidth, type StyledLine, type StyledText, styleState, styleStatus } from "./styled.ts";

const columnGap = 2;
/** A shortened column keeps its title and this many characters, unless its declaration has another minimum. */
const minTextWidth = 8;

const columnRanks = { first: 0, purpose: 1, other: 2, empty: 3 } as const;

interface ColumnLayout {
  readonly name: string;
  readonly shrinkPriority: number;
  /** Width of a shortened column (default: its full width). */
  readonly minWidth: number;
  readonly omits: OmittedPart;
  readonly rank: number;
  /** Whether a cell contains a URL, a path or a command, which is useless if it is cut. */
  readonly isExact: boolean;
  readonly isNumber: boolean;
  readonly cells: readonly string[];
  width: number;
}

/**
 * Formats rows under headings for a window of this many columns. Cuts some cells with `…` by declared priority, and
 * omits columns that do not fit next to the essential ones. Columns with URLs, paths or commands are never cut: their
 * cells move below the row. Numbers are right-aligned, and states are colored. Also returns the titles of omitted and
 * cut columns. Empty columns are omitted without a title.
 */
export function fitTable(
  rows: readonly (readonly unknown[])[],
  { columns, window, isComplete }: { columns: readonly Column[]; window: number; isComplete: boolean },
) {
  const layouts = columns.map((column, i) => layOutColumn(column, rows, i, (text) => text));
  const isTooWide = getTotalWidth(layouts) > window;
  const all = isTooWide ? columns.map((column, i) => layOutColumn(column, rows, i, removeMilliseconds)) : layouts;
  const { shown: shownColumns, below } = isTooWide ? chooseColumns(all, window, isComplete) : { shown: all, below: [] };
  const full = new Map(shownColumns.map((column) => [column, column.width]));
  for (const priority of [1, 2, 3]) {
    const shrinkable = shownColumns.filter(({ shrinkPriority }) => shrinkPriority === priority);
    shrink(shownColumns, window, shrinkable, ({ minWidth }) => minWidth);
  }
  // All columns are cut only as a last resort. A wrapped line is harder to read than a cut one.
  shrink(shownColumns, window, shownColumns, ({ isExact, width }) => (isExact ? width : 1));
  const titles = shownColumns.map((column) => bold(padCell(column, formatTitle(column), "end")));
  const indent = " ".repeat((shownColumns[0]?.width ?? 0) + columnGap);
  const lines = rows.flatMap((_, row) => [
    joinCells(shownColumns.map((column) => paintCell(column, padCell(column, column.cells[row]!)))),
    ...below
      .filter(({ cells }) => cells[row] !== "")
      .map((column): StyledLine => [indent, bold(formatTitle(column)), `  ${column.cells[row]}`]),
  ]);
  const isGone = ({ name, rank }: ColumnLayout) =>
    rank !== columnRanks.empty && ![...shownColumns, ...below].some((column) => column.name === name);
  return {
    lines: [joinCells(titles), ...lines],
    omittedColumns: all.filter(isGone).map(formatTitle),
    shortenedColumns: shownColumns.filter((column) => column.width < full.get(column)!).map(formatTitle),
    /** Such lines can be longer than the window. */
    hasLinesBelow: below.length > 0,
  };
}

/** Matches a URL, the path of a file or a request, and a command of svc. */
const exactText = /https?:\/\/|^(?:~|\.{0,2})\/\S|(?:^|\s)svc [a-z]/;

function layOutColumn(
  column: Column,
  rows: readonly (readonly unknown[])[],
  i: number,
  shorter: (text: string) => string,
): ColumnLayout {
  const definition: Exclude<Column, string> = typeof column === "string" ? { name: column } : column;
  const { name, shrinkPriority = 0, minWidth = minTextWidth, omits = "end", purpose = false } = definition;
  const values = rows.map((row) => row[i]);
  const cells = values.map((value) => shorter(escapeControlCharacters(formatCell(value))));
  const isNumber =
    values.some((value) => typeof value === "number") &&
    values.every((value) => typeof value === "number" || value === null || value === undefined);
  const width = getMaxTextWidth([formatTitle({ name }), ...cells]);
  const isEmpty = cells.every((text) => text === "");
  const rank = columnRanks[i === 0 ? "first" : purpose ? "purpose" : isEmpty ? "empty" : "other"];
  const isExact = cells.some((text) => exactText.test(text));
  const cutWidth =
    shrinkPriority === 0 || isExact ? width : Math.min(width, Math.max(minWidth, measureWidth(formatTitle({ name }))));
  return { name, shrinkPriority, minWidth: cutWidth, omits, rank, isExact, isNumber, cells, width };
}

/** Formats a time to the second, which is precise enough to distinguish rows. */
const removeMilliseconds = (text: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? `${text.slice(0, 19)}Z` : text;

const formatTitle = ({ name }: Pick<ColumnLayout, "name">): string => name.replaceAll("_", " ").toUpperCase();

const getTotalWidth = (columns: readonly ColumnLayout[]): number =>
  columns.reduce((sum, column) => sum + column.width, columnGap * (columns.length - 1));

/**
 * Selects columns by rank, each at its minimum width. Essential columns share the free space. Wide exact columns get
 * the rest of it. Exact columns that do not fit move below. Empty columns, and others that do not fit, are omitted
 * unless all columns are requested.
 */
function chooseColumns(all: readonly ColumnLayout[], window: number, isComplete: boolean) {
  const layouts = new Map<string, ColumnLayout>();
  const below: ColumnLayout[] = [];
  let width = -columnGap;
  // A wide exact column would displace all others.
  const isLast = ({ isExact, rank, width }: ColumnLayout) =>
    isExact && rank !== columnRanks.first && (isComplete || width > window / 2);
  const byRank = all.filter(({ rank }) => isComplete || rank !== columnRanks.empty).toSorted((a, b) => a.rank - b.rank);
  for (const column of byRank.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)))) {
    const room = window - width - columnGap;
    const isEssential = column.rank === columnRanks.purpose && column.shrinkPriority > 0 && !column.isExact;
    const minWidth = isEssential ? Math.min(column.minWidth, Math.max(minTextWidth, room)) : column.minWidth;
    const isFitting = layouts.size === 0 || minWidth <= room || (isComplete && !column.isExact);
    if (isFitting) {
      layouts.set(column.name, { ...column, minWidth });
      width += columnGap + minWidth;
    } else if (column.isExact) below.push(column);
  }
  return { shown: all.flatMap(({ name }) => layouts.get(name) ?? []), below };
}

function shrink(
  columns: readonly ColumnLayout[],
  window: number,
  shrinkable: readonly ColumnLayout[],
  getMinWidth: (column: ColumnLayout) => number,
): void {
  for (let excess = getTotalWidth(columns) - window; excess > 0; excess -= 1) {
    const longest = shrinkable
      .filter((column) => column.width > getMinWidth(column))
      .reduce<ColumnLayout | undefined>((a, b) => (a === undefined || b.width > a.width ? b : a), undefined);
    if (longest === undefined) return;
    longest.width -= 1;
  }
}

function padCell({ isNumber, width: columns, omits }: ColumnLayout, text: string, omittedPart: OmittedPart = omits) {
  const truncatedText = truncateText(text, columns, omittedPart);
  const blanks = " ".repeat(Math.max(0, columns - measureWidth(truncatedText)));
  return isNumber ? blanks + truncatedText : truncatedText + blanks;
}

function paintCell({ name }: ColumnLayout, text: string): StyledText | string {
  if (!/(?:^|_)(?:status|state|outcome)$/.test(name)) return text;
  const word = text.trim();
  const blanks = text.slice(text.trimEnd().length);
  if (/^\d{1,3}$/.test(word)) return styleStatus(Number(word), text);
  const styledText = styleState(word);
  return typeof styledText === "string" ? text : { ...styledText, text: `${word}${blanks}` };
}

function joinCells(cells: readonly (StyledText | string)[]): StyledLine {
  return cells.flatMap((cell, i): (StyledText | string)[] => {
    if (i < cells.length - 1) return [cell, " ".repeat(columnGap)];
    return [typeof cell === "string" ? cell.trimEnd() : { ...cell, text: cell.text.trimEnd() }];
  });
}

/** Formats a value for one cell. Strings stay unchanged, null becomes empty, and nested values become compact JSON. */
export function formatCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : stringifyExact(value);
}

/** Spreading many strings as arguments of Math.max would overflow the stack. */
const getMaxTextWidth = (texts: readonly string[]): number =>
  texts.reduce((max, text) => Math.max(max, measureWidth(text)), 0);

/** The segmenter is created for the first text that is not ASCII, because its tables take ten milliseconds to load. */
let graphemes: Intl.Segmenter | undefined;

/** Longer characters, such as a letter with a hundred accents, can be split. */
const maxCharacterLength = 32;

type OmittedPart = "start" | "middle" | "end";

/** Cuts the text to this many columns, with `…` for the omitted part. */
export function truncateText(text: string, columns: number, omittedPart: OmittedPart = "end"): string {
  if (measureWidth(text) <= columns) return text;
  const room = Math.max(0, columns - 1);
  const tailWidth = omittedPart === "end" ? 0 : omittedPart === "start" ? room : Math.floor(room / 2);
  // Only the ends are split, because the segmenter takes quadratic time.
  const reach = maxCharacterLength * columns;
  const tail = splitCharacters(text.slice(Math.max(0, text.length - reach)));
  const end = takeColumns(tail.toReversed(), tailWidth).toReversed().join("");
  return `${takeColumns(splitCharacters(text.slice(0, reach)), room - tailWidth).join("")}…${end}`;
}

function splitCharacters(text: string): readonly string[] {
  if (isPrintableAscii(text)) return [...text];
  graphemes ??= new Intl.Segmenter();
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

function takeColumns(characters: readonly string[], columns: number): readonly string[] {
  let width = 0;
  const firstExcess = characters.findIndex((character) => {
    width += measureWidth(character);
    return width > columns;
  });
  return firstExcess < 0 ? characters : characters.slice(0, firstExcess);
}

export function formatRecord(entries: readonly (readonly [string, string])[]): StyledLine[] {
  const escapedEntries = entries.map(([name, value]) => [escapeControlCharacters(name), value] as const);
  const columns = getMaxTextWidth(escapedEntries.map(([name]) => name));
  return escapedEntries.map(([name, value]) => [dim(name + " ".repeat(columns - measureWidth(name))), `  ${value}`]);
}

/** Backslashes are doubled, so that the escapes of tabs, line breaks and controls are reversible. */
export const formatTsvLine = (row: readonly string[]): string =>
  `${row.map((text) => escapeControlCharacters(text.replaceAll("\\", "\\\\"))).join("\t")}\n`;

/** Formats one row of RFC 4180. A cell is also quoted if its beginning could be a runner command. */
export const formatCsvLine = (row: readonly string[]): string =>
  `${row.map((text) => (/[",\r\n]|^\s*::/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(",")}\r\n`;

/** Formats one row for spreadsheets: cells that would be run as formulas begin with an apostrophe. */
export const formatSafeCsvLine = (row: readonly string[]): string =>
  formatCsvLine(row.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)));
