import { lookupTable } from "../../base/object.ts";

/**
 * Characters that control a terminal or are invisible: control characters, line separators, lone surrogates, marks that
 * turn the direction of writing, and zero-width ones. First the flags that are written with tags, as a whole. Created
 * on first use, like all expressions with properties of characters: that takes half a millisecond.
 */
const createSuspectPattern = (): RegExp =>
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f}|[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** Most strings: nothing to look at closer. */
const harmless = /^[ -~]*$/;
const harmlessLines = /^[\n -~]*$/;
/** With the dashes, quotation marks and ellipsis of our own pages. */
const harmlessText = /^[\t\n -~\u2010-\u2027]*$/;

/** Scripts without joined forms: a joiner between their letters has no effect, so it can only be meant to fool. */
const isUnjoined = (char: string): boolean =>
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}]/u.test(char);
const isJoined = (char: string): boolean => /[\p{L}\p{M}]/u.test(char) && !isUnjoined(char);
const isPicture = (char: string): boolean => /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u.test(char);
const isJoiner = (char: string): boolean => char === "\u200c" || char === "\u200d";
const isVariation = (char: string): boolean => /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u180b-\u180d\u180f]/u.test(char);

/** How one suspicious character is written. */
type Escape = (char: string) => string;

const names = lookupTable<string>({ "\n": "\\n", "\r": "\\r", "\t": "\\t" });

const toHex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** `\x1b`, `\u202e`, `\u{e0041}`; `\n`, `\r` and `\t` by their usual names. */
const toPeople: Escape = (char) => {
  const code = char.codePointAt(0)!;
  if (code > 0xffff) return `\\u{${toHex(code, 5)}}`;
  return names[char] ?? (code > 0xff ? `\\u${toHex(code, 4)}` : `\\x${toHex(code, 2)}`);
};

/** As JSON has it, by UTF-16 units. */
const toJson: Escape = (char) =>
  [...Array(char.length).keys()].map((i) => `\\u${toHex(char.charCodeAt(i), 4)}`).join("");

/**
 * A line for people: characters that could move the cursor, break the line, turn it round or hide in it are shown as
 * escapes. Accents, all scripts and emoji stay as they are. Applied twice it changes nothing more.
 */
export const escapeControlCharacters = (text: string): string => escapeText(text, toPeople);

/** The same of text in which line breaks and tabs have their place. */
export const escapeMultilineText = (text: string): string =>
  harmlessText.test(text) ? text : escapeText(text, (char) => (char === "\n" || char === "\t" ? char : toPeople(char)));

/** JSON that means the same and can be printed anywhere: `text` is what `JSON.stringify` made. */
export const escapeJson = (text: string): string =>
  harmlessLines.test(text) ? text : escapeText(text, (char) => (char === "\n" ? char : toJson(char)));

function escapeText(text: string, write: Escape): string {
  if (harmless.test(text)) return text;
  return text.replace(createSuspectPattern(), (found, offset: number) =>
    found.startsWith("\u{1f3f4}") || hasItsPlace(found, text, offset) ? found : write(found),
  );
}

/** Joiners within emoji and within scripts that join; selectors of a variant, where there is something to vary. */
function hasItsPlace(char: string, text: string, offset: number): boolean {
  if (!isJoiner(char) && !isVariation(char)) return false;
  const before = getCharacterBefore(text, offset);
  if (isVariation(char)) return before !== "" && !isJoiner(before) && !isVariation(before);
  return isPicture(before) || isJoined(before);
}

function getCharacterBefore(text: string, offset: number): string {
  const two = text.codePointAt(offset - 2) ?? 0;
  return offset >= 2 && two > 0xffff ? String.fromCodePoint(two) : text.charAt(offset - 1);
}

/**
 * Whatever a runner takes for a command: `::` at the beginning of a line, blanks before it or not (GitHub Actions), and
 * `##[` (there and in Azure Pipelines), `##vso[` and `##teamcity[` anywhere.
 */
const atLineStart = /^([^\S\n\r\u2028\u2029]*):(?=:)/gm;
const anywhere = /##(?=\w{0,16}\[)/g;

const mayCommand = (text: string): boolean => text.includes("::") || text.includes("##");

/** Lines that a runner does not execute; changes stay visible. */
export const neutralizeCommands = (text: string): string =>
  mayCommand(text) ? text.replace(atLineStart, "$1\\x3a").replace(anywhere, "\\x23#") : text;

/** The same with the escapes of JSON, in which documents continue meaning what they meant. */
export const neutralizeJsonCommands = (json: string): string =>
  mayCommand(json) ? json.replace(atLineStart, "$1\\u003a").replace(anywhere, "#\\u0023") : json;
