import type { Column } from "../../api/operation.ts";
import { paintedState, paintedStatus } from "./states.ts";
import { bold, type Line, type Styled } from "./styled.ts";
import { cell, cutTo, widest } from "./text.ts";
import { visible } from "./visible.ts";
import { widthOf } from "./width.ts";

const gap = 2;
/** A column that is cut keeps as much, or is left out. */
const leastText = 8;

interface Laid {
  readonly name: string;
  readonly cut: number;
  readonly isNumber: boolean;
  readonly cells: readonly string[];
  width: number;
}

/**
 * Rows under headings that fit a window of so many columns: some are cut with `…`, by the priority that they declare,
 * then the last ones are left out. Numbers stand at the right, states in their colour. Of what is left out, the titles.
 */
export function fittingTable(
  rows: readonly (readonly unknown[])[],
  {
    columns,
    window,
    keepsAll,
  }: { readonly columns: readonly Column[]; readonly window: number; readonly keepsAll: boolean },
): { readonly lines: readonly Line[]; readonly leftOut: readonly string[] } {
  const all = columns.map((column, i) => laid(column, rows, i));
  let shown = all;
  if (!keepsAll) while (shown.length > 1 && leastOf(shown) > window) shown = shown.slice(0, -1);
  for (const priority of [1, 2, 3]) shrink(shown, window, leastText, ({ cut }) => cut === priority);
  // Nothing else helps: a line that wraps is harder to read than one that is cut.
  shrink(shown, window, 1, () => true);
  const titles = shown.map((column) => bold(padded(column, title(column))));
  const lines = rows.map((_, row) => shown.map((column) => painted(column, padded(column, column.cells[row]!))));
  return { lines: [titles, ...lines].map(joined), leftOut: all.slice(shown.length).map(title) };
}

function laid(column: Column, rows: readonly (readonly unknown[])[], i: number): Laid {
  const { name, cut } = typeof column === "string" ? { name: column, cut: 0 } : column;
  const values = rows.map((row) => row[i]);
  const cells = values.map((value) => visible(cell(value)));
  const isNumber =
    values.some((value) => typeof value === "number") &&
    values.every((value) => typeof value === "number" || value === null || value === undefined);
  const one = { name, cut, isNumber, cells, width: 0 };
  return { ...one, width: widest([title(one), ...cells]) };
}

const title = ({ name }: Pick<Laid, "name">): string => name.replaceAll("_", " ").toUpperCase();

const total = (columns: readonly Laid[]): number =>
  columns.reduce((sum, column) => sum + column.width, gap * (columns.length - 1));

/** The width with all cut that may be. */
const leastOf = (columns: readonly Laid[]): number =>
  columns.reduce(
    (sum, column) => sum + (column.cut > 0 ? Math.min(column.width, leastText) : column.width),
    gap * (columns.length - 1),
  );

/** Takes from the widest of these columns, until the table fits or each is down to `least`. */
function shrink(columns: readonly Laid[], window: number, least: number, may: (column: Laid) => boolean): void {
  const cuttable = columns.filter(may);
  for (let over = total(columns) - window; over > 0; over -= 1) {
    const longest = cuttable.reduce<Laid | undefined>(
      (a, b) => (a === undefined || b.width > a.width ? b : a),
      undefined,
    );
    if (longest === undefined || longest.width <= least) return;
    longest.width -= 1;
  }
}

function padded({ isNumber, width: columns }: Laid, text: string): string {
  const cut = cutTo(text, columns);
  const blanks = " ".repeat(Math.max(0, columns - widthOf(cut)));
  return isNumber ? blanks + cut : cut + blanks;
}

function painted({ name }: Laid, text: string): Styled | string {
  if (!/(?:^|_)(?:status|state|outcome)$/.test(name)) return text;
  const word = text.trim();
  const blanks = text.slice(text.trimEnd().length);
  if (/^\d{1,3}$/.test(word)) return paintedStatus(Number(word), text);
  const found = paintedState(word);
  return typeof found === "string" ? text : { ...found, text: `${word}${blanks}` };
}

/** The last cell needs no blanks after it. */
function joined(cells: readonly (Styled | string)[]): Line {
  return cells.flatMap((one, i): (Styled | string)[] => {
    if (i < cells.length - 1) return [one, " ".repeat(gap)];
    return [typeof one === "string" ? one.trimEnd() : { ...one, text: one.text.trimEnd() }];
  });
}
