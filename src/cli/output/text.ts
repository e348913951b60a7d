import { stringifyExact } from "../../base/json.ts";
import { escapeControlCharacters } from "./control-characters.ts";
import { measureWidth } from "./line-wrapping.ts";
import { dim, type StyledLine } from "./styled.ts";

/** Formats a value for one cell. Strings stay unchanged, null becomes empty, and nested values become compact JSON. */
export function formatCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : stringifyExact(value);
}

const padText = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - measureWidth(text)));

/** Spreading many strings as arguments of Math.max would overflow the stack. */
export const getMaxTextWidth = (texts: readonly string[]): number =>
  texts.reduce((max, text) => Math.max(max, measureWidth(text)), 0);

const ascii = /^[ -~]*$/;

/** The segmenter is created for the first text that is not ASCII, because its tables take ten milliseconds to load. */
let graphemes: Intl.Segmenter | undefined;

export type OmittedPart = "start" | "middle" | "end";

/** Cuts the text to this many columns, with `…` for the omitted part. No character is split. */
export function truncateText(text: string, columns: number, omittedPart: OmittedPart = "end"): string {
  if (text.length <= columns && ascii.test(text)) return text;
  if (!ascii.test(text) && measureWidth(text) <= columns) return text;
  const room = Math.max(0, columns - 1);
  const tailWidth = omittedPart === "end" ? 0 : omittedPart === "start" ? room : Math.floor(room / 2);
  const characters = splitCharacters(text);
  const end = takeColumns(characters.toReversed(), tailWidth).toReversed().join("");
  return `${takeColumns(characters, room - tailWidth).join("")}…${end}`;
}

function splitCharacters(text: string): readonly string[] {
  if (ascii.test(text)) return [...text];
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
  return escapedEntries.map(([name, value]) => [dim(padText(name, columns)), `  ${value}`]);
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
