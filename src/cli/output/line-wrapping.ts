import width from "fast-string-width";
import type { Host, OutputStream } from "../process/host.ts";

/** Text in one style, as it will be printed. */
export interface StyledPiece {
  readonly text: string;
  readonly paint: (text: string) => string;
}

/** The text between two gaps, and the gap before it. */
interface Word {
  readonly gap: string;
  readonly pieces: StyledPiece[];
}

/**
 * A line as it is printed in a window of this many columns: it continues in the next one between words, never within.
 * What follows is below the text behind a name, else a little further in than the line begins. A command to be typed
 * continues behind a backslash, so that it can be pasted.
 */
export function wrapLine(line: readonly StyledPiece[], columns: number): string {
  const text = line.map((piece) => piece.text).join("");
  if (measureWidth(text) <= columns) return line.map(({ text, paint }) => paint(text)).join("");
  const single = splitWords(line);
  const command = single.findIndex((_, i) => /^$|:$/.test(getText(single[i - 1])) && getText(single[i]) === "svc");
  const words = command < 0 ? single : withQuotesWhole(single, command);
  const hanging = getHangingIndent(text, columns);
  let printed = "";
  let used = 0;
  for (const [i, word] of words.entries()) {
    const isTyped = command >= 0 && i > command;
    const width = measureWidth(getText(word));
    const limit = command >= 0 && i >= command ? columns - 2 : columns;
    if (used > hanging.length && used + word.gap.length + width > limit) {
      printed += `${isTyped ? " \\" : ""}\n${hanging}`;
      used = hanging.length + width;
    } else {
      printed += word.gap;
      used += word.gap.length + width;
    }
    printed += word.pieces.map(({ text, paint }) => paint(text)).join("");
  }
  return printed;
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

/** A shell word, from there on, is one: a break within quotes would be part of it. */
function withQuotesWhole(words: readonly Word[], from: number): Word[] {
  const whole = words.slice(0, from);
  let isOpen = false;
  for (const word of words.slice(from)) {
    if (isOpen) whole.at(-1)!.pieces.push({ text: word.gap, paint: (text) => text }, ...word.pieces);
    else whole.push(word);
    if (getText(word).split("'").length % 2 === 0) isOpen = !isOpen;
  }
  return whole;
}

const getText = (word: Word | undefined): string => word?.pieces.map(({ text }) => text).join("") ?? "";

/** The prefix of a continued line: a third of the window at most, since text needs room; two of a tree. */
function getHangingIndent(text: string, columns: number): string {
  const [branch = "", before = "", indent = "", own] = /^(\S+ {2})([│ ]*)([├└])─ /.exec(text) ?? [];
  if (branch !== "" && measureWidth(branch) <= (2 * columns) / 3) {
    return `${" ".repeat(before.length)}${indent}${own === "├" ? "│" : " "}    `;
  }
  const start = text.search(/[^ ]/);
  const gap = text.indexOf("  ", start);
  const named = gap < 0 ? 0 : gap + text.slice(gap).search(/[^ ]/);
  const most = Math.floor(columns / 3);
  return " ".repeat(gap > 0 && named <= most ? named : Math.min(start + 2, most));
}

const ascii = /^[ -~]*$/;

/** How many columns of a terminal the text takes. The library is loaded for what is not ASCII (build.ts). */
export const measureWidth = (text: string): number => (ascii.test(text) ? text.length : width(text));

/** The default width of a terminal. */
export const defaultColumns = 80;

/** Width of its window: that of the terminal, else the variable COLUMNS; undefined: unknown. */
export function readWindowWidth(
  { columns }: Pick<OutputStream, "columns">,
  { COLUMNS = "" }: Host["env"],
): number | undefined {
  return columns || (/^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined);
}

/**
 * The same stream, never 0 columns wide: libraries divide by the width to know how many lines to clear, and would
 * continue forever. A window may lose its width while something turns in it.
 */
export const withNonZeroWidth = <Stream extends OutputStream>(stream: Stream): Stream =>
  new Proxy(stream, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "columns") return value || defaultColumns;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
