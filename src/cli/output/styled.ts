import width from "fast-string-width";
import { isSwitchedOn } from "../process/environment.ts";
import type { Host, OutputStream } from "../process/host.ts";
import { isPrintableAscii } from "./control-characters.ts";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Part of a line with a style. Without colors, only the text is printed. */
export interface StyledText {
  readonly style: StyleName;
  readonly text: string;
}

/** Line for users, without its line break. The printer escapes its content. */
export type StyledLine = string | readonly (string | StyledText)[];

const createStyle =
  (name: StyleName) =>
  (text: string): StyledText => ({ style: name, text });

export const bold = createStyle("bold");
export const dim = createStyle("dim");
export const red = createStyle("red");
export const green = createStyle("green");
export const yellow = createStyle("yellow");
export const cyan = createStyle("cyan");

export const stripStyles = (line: StyledLine): string =>
  typeof line === "string" ? line : line.map((piece) => (typeof piece === "string" ? piece : piece.text)).join("");

/** Reports whether a stream gets colors. svc decides this once per stream (DECISIONS.md, L4). */
export function hasColour(stream: OutputStream, flag: boolean | undefined, env: Host["env"]): boolean {
  if (flag !== undefined) return flag;
  // Any value of NO_COLOR disables colors, as its specification says.
  if (isSwitchedOn(env.SVC_NO_COLOR) || env.NO_COLOR) return false;
  if (isSwitchedOn(env.FORCE_COLOR) || isSwitchedOn(env.CLICOLOR_FORCE)) return true;
  if (env.FORCE_COLOR) return false;
  return env.TERM !== "dumb" && stream.isTTY === true;
}

const styles = [
  [green, /^(?:active|delivered|done|executed|completed?|authorized|signed|approved|published|ok|running|true)$/],
  [
    red,
    /^(?:failed|disabled_by_error|declined|rejected|denied|voided?|expired|interrupted|bounced|false|will_be_skipped|address_not_allowed|disabled)$/,
  ],
  [
    yellow,
    /^(?:retrying|waiting|pending|warning|partial|disabled_by_user|disabled_by_a_user|failing|enabled_again|on_hold|redlining|review|sign)$/,
  ],
  [dim, /^(?:skipped.*|draft|deleted|archived|gone|not_sent.*)$/],
] as const;

/** Colors the name of a state: success, failure, in progress or inactive. Other words stay unchanged. */
export function styleState(text: string): StyledText | string {
  const word = text.toLowerCase().replaceAll(" ", "_");
  const match = styles.find(([, words]) => words.test(word));
  return match ? match[0](text) : text;
}

/** Colors the status of an HTTP response. 0 means no response. */
export function styleStatus(status: number, text = String(status)): StyledText {
  if (status >= 500 || status === 0) return red(text);
  if (status >= 400) return yellow(text);
  return status >= 300 ? cyan(text) : green(text);
}

export interface StyledPiece {
  readonly text: string;
  readonly paint: (text: string) => string;
}

interface Word {
  readonly gap: string;
  readonly pieces: StyledPiece[];
}

/** A line break would end a command that users paste, so the terminal wraps such a line. */
const commandLine = /(?:^|[:$]) *svc [a-z]/;

/**
 * Wraps a line at this many columns, only between words. Continuation lines are indented below the text after a name,
 * or else slightly more than the line.
 */
export function wrapLine(line: readonly StyledPiece[], columns: number): string {
  const text = line.map((piece) => piece.text).join("");
  if (measureWidth(text) <= columns || commandLine.test(text))
    return line.map(({ text, paint }) => paint(text)).join("");
  const hanging = getHangingIndent(text, columns);
  let lines = "";
  let usedWidth = 0;
  for (const { gap, pieces } of splitWords(line)) {
    const width = measureWidth(pieces.map(({ text }) => text).join(""));
    if (usedWidth > hanging.length && usedWidth + gap.length + width > columns) {
      lines += `\n${hanging}`;
      usedWidth = hanging.length + width;
    } else {
      lines += gap;
      usedWidth += gap.length + width;
    }
    lines += pieces.map(({ text, paint }) => paint(text)).join("");
  }
  return lines;
}

function splitWords(line: readonly StyledPiece[]): Word[] {
  const words: Word[] = [{ gap: "", pieces: [] }];
  for (const { text, paint } of line) {
    for (const part of text.split(/( +)/)) {
      if (part === "") continue;
      if (part.startsWith(" ")) words.push({ gap: part, pieces: [] });
      else words.at(-1)!.pieces.push({ text: part, paint });
    }
  }
  return words;
}

/** The prefix of a continuation line is at most a third of the window. In a tree, it repeats the branches. */
function getHangingIndent(text: string, columns: number): string {
  const [branch = "", before = "", indent = "", marker] = /^(\S+ {2})([│ ]*)([├└])─ /.exec(text) ?? [];
  if (branch !== "" && measureWidth(branch) <= (2 * columns) / 3) {
    return `${" ".repeat(before.length)}${indent}${marker === "├" ? "│" : " "}    `;
  }
  const start = text.search(/[^ ]/);
  const gap = text.indexOf("  ", start);
  const nameStart = gap < 0 ? 0 : gap + text.slice(gap).search(/[^ ]/);
  const maxIndent = Math.floor(columns / 3);
  return " ".repeat(gap > 0 && nameStart <= maxIndent ? nameStart : Math.min(start + 2, maxIndent));
}

/** Measures the columns of a text on a terminal. Loads the library only for text that is not ASCII (build.ts). */
export const measureWidth = (text: string): number => (isPrintableAscii(text) ? text.length : width(text));

export const defaultColumns = 80;

/** Returns the width of the window from the terminal, or else from the variable COLUMNS. */
export function readWindowWidth({ columns }: Pick<OutputStream, "columns">, { COLUMNS = "" }: Host["env"]) {
  return columns || (/^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined);
}

/**
 * Returns a stream that is never 0 columns wide. Libraries divide by the width to count the lines to clear, and would
 * loop forever. A window can lose its width while a spinner runs.
 */
export const withNonZeroWidth = <Stream extends OutputStream>(stream: Stream): Stream =>
  new Proxy(stream, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "columns") return value || defaultColumns;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
