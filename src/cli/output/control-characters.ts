import { lookupTable } from "../../base/object.ts";

/**
 * Creates a pattern for characters that control a terminal or are invisible: control characters, line separators, lone
 * surrogates, directional marks, and zero-width characters. Flags that are written with tags match first, as a whole.
 * The pattern is created on first use, because Unicode properties take half a millisecond to compile.
 */
const createSuspectPattern = (): RegExp =>
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f}|[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

export const isPrintableAscii = (text: string): boolean => /^[ -~]*$/.test(text);
const harmlessLines = /^[\n -~]*$/;
const harmlessText = /^[\t\n -~\u2010-\u2027]*$/;

/** In a script without joined forms, a joiner has no effect and can only deceive. */
const isUnjoined = (char: string): boolean =>
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}]/u.test(char);
const isJoined = (char: string): boolean => /[\p{L}\p{M}]/u.test(char) && !isUnjoined(char);
const isPicture = (char: string): boolean => /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u.test(char);
const isJoiner = (char: string): boolean => char === "\u200c" || char === "\u200d";
const isVariation = (char: string): boolean => /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u180b-\u180d\u180f]/u.test(char);

type Escape = (char: string) => string;

const escapeNames = lookupTable<string>({ "\n": "\\n", "\r": "\\r", "\t": "\\t" });

const toHex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** Formats `\x1b`, `\u202e` or `\u{e0041}`. Line feed, carriage return and tab become `\n`, `\r` and `\t`. */
const toPeople: Escape = (char) => {
  const code = char.codePointAt(0)!;
  if (code > 0xffff) return `\\u{${toHex(code, 5)}}`;
  return escapeNames[char] ?? (code > 0xff ? `\\u${toHex(code, 4)}` : `\\x${toHex(code, 2)}`);
};

const toJson: Escape = (char) =>
  [...Array(char.length).keys()].map((i) => `\\u${toHex(char.charCodeAt(i), 4)}`).join("");

/**
 * Escapes a line for users. Characters that move the cursor, break the line, reverse it or are invisible become visible
 * escapes. Accents, all scripts and emoji stay unchanged. The function is idempotent.
 */
export const escapeControlCharacters = (text: string): string => escapeText(text, toPeople);

export const escapeMultilineText = (text: string): string =>
  harmlessText.test(text) ? text : escapeText(text, (char) => (char === "\n" || char === "\t" ? char : toPeople(char)));

/** Returns equivalent JSON that is safe to print. `text` is the result of `JSON.stringify`. */
export const escapeJson = (text: string): string =>
  harmlessLines.test(text) ? text : escapeText(text, (char) => (char === "\n" ? char : toJson(char)));

function escapeText(text: string, write: Escape): string {
  if (isPrintableAscii(text)) return text;
  return text.replace(createSuspectPattern(), (match, offset: number) =>
    match.startsWith("\u{1f3f4}") || hasItsPlace(match, text, offset) ? match : write(match),
  );
}

/** Reports whether a joiner is in an emoji or a joining script, or a variation selector after another character. */
function hasItsPlace(char: string, text: string, offset: number): boolean {
  if (!isJoiner(char) && !isVariation(char)) return false;
  const before = getCharacterBefore(text, offset);
  if (isVariation(char)) return before !== "" && !isJoiner(before) && !isVariation(before);
  return isPicture(before) || isJoined(before);
}

function getCharacterBefore(text: string, offset: number): string {
  const codePoint = text.codePointAt(offset - 2) ?? 0;
  return offset >= 2 && codePoint > 0xffff ? String.fromCodePoint(codePoint) : text.charAt(offset - 1);
}

/**
 * Patterns of runner commands. GitHub Actions executes `::` at the beginning of a line, after optional blanks. GitHub
 * Actions and Azure Pipelines execute `##[` there. `##vso[` and `##teamcity[` are executed anywhere.
 */
const atLineStart = /^([^\S\n\r\u2028\u2029]*):(?=:)/gm;
const commandPattern = /##(?=\w{0,16}\[)/g;

const mayCommand = (text: string): boolean => text.includes("::") || text.includes("##");

/** Escapes lines visibly so that a runner does not execute them. */
export const neutralizeCommands = (text: string): string =>
  mayCommand(text) ? text.replace(atLineStart, "$1\\x3a").replace(commandPattern, "\\x23#") : text;

/** Escapes runner commands in JSON without changing its meaning. */
export const neutralizeJsonCommands = (json: string): string =>
  mayCommand(json) ? json.replace(atLineStart, "$1\\u003a").replace(commandPattern, "#\\u0023") : json;
