import { stringifyExact } from "../../base/json.ts";
import { escapeControlCharacters } from "./control-characters.ts";
import { measureWidth } from "./line-wrapping.ts";
import { dim, type StyledLine } from "./styled.ts";

/** A value in one cell: text as it is, nothing for null, compact JSON for what is nested. */
export function formatCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : stringifyExact(value);
}

const padText = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - measureWidth(text)));

/** How wide the widest text is. Of any number of strings: as arguments of one call, many would not fit on the stack. */
export const getMaxTextWidth = (texts: readonly string[]): number =>
  texts.reduce((most, text) => Math.max(most, measureWidth(text)), 0);

const ascii = /^[ -~]*$/;

/** Made by the first text that is not ASCII: its tables take ten milliseconds to load, a third of Node's own start. */
let graphemes: Intl.Segmenter | undefined;

/** Which part of a string is missing where it is cut. */
export type OmittedPart = "start" | "middle" | "end";

/** The text in at most this many columns, with `…` where something is missing; no character is cut in two. */
export function truncateText(text: string, columns: number, omitted: OmittedPart = "end"): string {
  if (text.length <= columns && ascii.test(text)) return text;
  if (!ascii.test(text) && measureWidth(text) <= columns) return text;
  const room = Math.max(0, columns - 1);
  const tail = omitted === "end" ? 0 : omitted === "start" ? room : Math.floor(room / 2);
  const characters = splitCharacters(text);
  const end = takeColumns(characters.toReversed(), tail).toReversed().join("");
  return `${takeColumns(characters, room - tail).join("")}…${end}`;
}

function splitCharacters(text: string): readonly string[] {
  if (ascii.test(text)) return [...text];
  graphemes ??= new Intl.Segmenter();
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/** The first of these that fit into this many columns. */
function takeColumns(characters: readonly string[], columns: number): readonly string[] {
  let used = 0;
  const over = characters.findIndex((one) => {
    used += measureWidth(one);
    return used > columns;
  });
  return over < 0 ? characters : characters.slice(0, over);
}

/** Rows under headings, for people; their first line is that of the headings. Nothing is cut: identifiers stay whole. */
export function formatTable(rows: readonly (readonly string[])[], headings: readonly string[]): string[] {
  const all = [headings, ...rows].map((row) => row.map(escapeControlCharacters));
  const widths = headings.map((_, i) => getMaxTextWidth(all.map((row) => row[i] ?? "")));
  return all.map((row) => row.map((text, i) => (i === row.length - 1 ? text : padText(text, widths[i]!))).join("  "));
}

/** Two aligned columns: names and values of one object. */
export function formatRecord(entries: readonly (readonly [string, string])[]): StyledLine[] {
  const shown = entries.map(([name, value]) => [escapeControlCharacters(name), value] as const);
  const columns = getMaxTextWidth(shown.map(([name]) => name));
  return shown.map(([name, value]) => [dim(padText(name, columns)), `  ${value}`]);
}

/**
 * One tab-separated row; tabs and line breaks inside a value are written as escapes, and so is whatever a terminal
 * would act upon. A backslash is doubled, so that all of it can be undone.
 */
export const formatTsvLine = (row: readonly string[]): string =>
  `${row.map((text) => escapeControlCharacters(text.replaceAll("\\", "\\\\"))).join("\t")}\n`;

/** One row of RFC 4180. A cell is quoted also where its beginning could be taken for a command of a runner. */
export const formatCsvLine = (row: readonly string[]): string =>
  `${row.map((text) => (/[",\r\n]|^\s*::/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(",")}\r\n`;

/** The same for spreadsheets: cells that they would run as formulas begin with an apostrophe. */
export const formatSafeCsvLine = (row: readonly string[]): string =>
  formatCsvLine(row.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)));
