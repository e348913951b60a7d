import { lookupTable } from "../../base/lookup-table.ts";
/** A value in one cell: text as it is, nothing for null, compact JSON for what is nested. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Removes what could move the cursor or break a line of a table. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
export const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");

/** Columns on screen: wide East Asian characters and emoji take two, combining marks none. */
export function width(text: string): number {
  let columns = 0;
  for (const char of text) {
    if (/\p{Mark}|\u200d|\ufe0f/u.test(char)) continue;
    columns +=
      /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation}|[\uff01-\uff60]/u.test(
        char,
      )
        ? 2
        : 1;
  }
  return columns;
}

const padded = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - width(text)));

/** Rows under bold-able headings, for people. Nothing is cut: identifiers stay whole. */
export function table(
  rows: readonly (readonly string[])[],
  headings: readonly string[],
  heading: (text: string) => string,
): string {
  const clean = rows.map((row) => row.map(printable));
  const widths = headings.map((title, i) => Math.max(width(title), ...clean.map((row) => width(row[i] ?? ""))));
  const line = (row: readonly string[]) =>
    row.map((text, i) => (i === row.length - 1 ? text : padded(text, widths[i]!))).join("  ");
  return `${[heading(line(headings)), ...clean.map(line)].join("\n")}\n`;
}

/** Two aligned columns: names and values of one object. */
export function record(entries: readonly (readonly [string, string])[], name: (text: string) => string): string {
  const widest = Math.max(0, ...entries.map(([key]) => width(key)));
  return entries.map(([key, value]) => `${name(padded(key, widest))}  ${printable(value)}\n`).join("");
}

const tsvEscapes = lookupTable<string>({ "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\" });

/** One tab-separated row; tabs and line breaks inside a value are written as escapes. */
export const tsvLine = (row: readonly string[]): string =>
  `${row.map((text) => text.replace(/[\t\n\r\\]/g, (char) => tsvEscapes[char]!)).join("\t")}\n`;

/** One row of RFC 4180. */
export const csvLine = (row: readonly string[]): string =>
  `${row.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(",")}\r\n`;
