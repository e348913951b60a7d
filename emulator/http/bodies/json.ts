import { findStringEnd, restoreExactNumbers } from "../../../src/base/json.ts";
import { JsonLimitError, parsePythonJson, toPlainValue } from "./python-json.ts";

/**
 * Limits of one body (DECISIONS.md, E11). A body of 64 MiB can contain more values than fit in memory, and parsing each
 * member name blocks other requests for microseconds.
 */
export const bodyLimits = { values: 5_000_000, members: 1_000_000, fields: 10_000, parts: 1_000 } as const;

/** Codes of the characters that structure a JSON text. */
const codes = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  list: 0x5b,
  listEnd: 0x5d,
  object: 0x7b,
  objectEnd: 0x7d,
} as const;

/** Describes the limit that a JSON text exceeds. Returns undefined if the text exceeds none. */
export function findExceededLimit(text: string): string | undefined {
  // Each value or member needs at least two characters.
  if (text.length < 2 * bodyLimits.members) return undefined;
  let values = 1;
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) at = findStringEnd(text, at);
    else if (code === codes.colon) members += 1;
    else if (code === codes.comma || code === codes.list || code === codes.object) values += 1;
    if (members > bodyLimits.members) return `of more than ${bodyLimits.members} members`;
    if (values > bodyLimits.values) return `of more than ${bodyLimits.values} values`;
  }
  return undefined;
}

export const exceedsFieldLimit = (text: string): boolean =>
  text.split("&", bodyLimits.fields + 1).length > bodyLimits.fields;

/** A decoded body with its value and the source that an error message quotes. */
export interface DecodedBody {
  readonly value: unknown;
  /** Returns the document with its numbers as written. The document is created only if an error quotes it. */
  readonly getSource: () => unknown;
  /**
   * Returns the document with the original text of numbers that a double would change. Returns undefined if there are
   * no such numbers.
   */
  readonly getExact?: () => unknown;
  /** Length of the text. */
  readonly length: number;
  /** True if the body was sent as a form. */
  readonly isForm?: boolean;
}

/**
 * Maximum length of a document whose numbers are quoted as written, because exact numbers take ten times the memory.
 */
const maxExactLength = 1_000_000;

/**
 * Parses JSON text. V8 parses the text. The exact parser runs only for text that V8 rejects and for text that may
 * exceed one of Python's limits. V8 rejects NaN, which Python accepts, and its messages differ from CPython's. Throws
 * JsonSyntaxError or JsonLimitError. `allowsLargeDocuments` is true for a client that can send more than usual.
 */
export function parseJson(text: string, allowsLargeDocuments = false): DecodedBody {
  const exceededLimit = allowsLargeDocuments ? undefined : findExceededLimit(text);
  if (exceededLimit !== undefined) throw new JsonLimitError(exceededLimit);
  const value = parseValue(text);
  const { length } = text;
  const getSource = () => (length > maxExactLength ? value : parsePythonJson(text));
  return { value, getSource, getExact: () => parseExactly(text, value), length };
}

function parseExactly(text: string, value: unknown): unknown {
  try {
    const exact = restoreExactNumbers(text, value);
    return exact === value ? undefined : exact;
  } catch {
    // Python accepts more than JSON, such as NaN.
    return undefined;
  }
}

function parseValue(text: string): unknown {
  if (mayExceedLimits(text)) return toPlainValue(parsePythonJson(text));
  try {
    return JSON.parse(text);
  } catch {
    return toPlainValue(parsePythonJson(text));
  }
}

const minCheckedDepth = 1_000;
const minCheckedDigits = 4_301;

/** Returns whether a text may exceed a limit of Python. */
const mayExceedLimits = (text: string): boolean =>
  text.length > minCheckedDepth && (isDeep(text) || hasLongNumber(text));

function isDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) at = findStringEnd(text, at);
    else if (code === codes.list || code === codes.object) depth += 1;
    else if (code === codes.listEnd || code === codes.objectEnd) depth -= 1;
    if (depth > minCheckedDepth) return true;
  }
  return false;
}

/** A run of 4,301 digits always includes an index that is a multiple of 4,300, so only these indexes are checked. */
function hasLongNumber(text: string): boolean {
  for (let probe = minCheckedDigits - 1; probe < text.length; probe += minCheckedDigits - 1) {
    if (!isDigit(text, probe)) continue;
    let start = probe;
    let end = probe;
    while (isDigit(text, start - 1)) start -= 1;
    while (isDigit(text, end + 1)) end += 1;
    if (end - start + 1 >= minCheckedDigits) return true;
  }
  return false;
}

const isDigit = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
};

/** A position in a document as Python counts it: in code points, with `line` and `column` from 1. */
export interface JsonPosition {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/** Returns the position of an index in UTF-16 units. */
export function locatePosition(text: string, index: number): JsonPosition {
  let position = 0;
  let line = 1;
  let lineStart = 0;
  for (const character of text.slice(0, index)) {
    position += 1;
    if (character !== "\n") continue;
    line += 1;
    lineStart = position;
  }
  return { at: position, line, column: position - lineStart + 1 };
}
