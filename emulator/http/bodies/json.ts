import { restoreExactNumbers } from "../../../src/base/json.ts";
import { findExceededLimit } from "./body-limits.ts";
import { JsonLimitError, parsePythonJson, toPlainValue } from "./python-json.ts";

/** A decoded body with its value and the source that an error message quotes. */
export interface DecodedBody {
  readonly value: unknown;
  /** Returns the document with its numbers as written. The document is created only if an error quotes it. */
  readonly getSource: () => unknown;
  /**
   * Returns the document, in which numbers that a double would change are kept as written. Returns undefined if there
   * are no such numbers.
   */
  readonly getExact?: () => unknown;
  /** Length of the text. */
  readonly length: number;
  /** Whether the body was sent as a form. */
  readonly isForm?: boolean;
}

/**
 * Maximum length of a document whose numbers are quoted as written, because exact numbers take ten times the memory.
 */
const maxExactLength = 1_000_000;

/**
 * Parses JSON text. V8 parses the text. The exact parser runs only for text that V8 rejects and for text that may
 * exceed one of Python's limits. V8 rejects NaN, which Python accepts, and its messages differ from CPython's. Throws
 * JsonSyntaxError or JsonLimitError. `mayBeHeavy` is true for a client that can send more than usual.
 */
export function parseJson(text: string, mayBeHeavy = false): DecodedBody {
  const heavy = mayBeHeavy ? undefined : findExceededLimit(text);
  if (heavy !== undefined) throw new JsonLimitError(heavy);
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
  if (mayBreakLimits(text)) return toPlainValue(parsePythonJson(text));
  try {
    return JSON.parse(text);
  } catch {
    return toPlainValue(parsePythonJson(text));
  }
}

const minCheckedDepth = 1_000;
const minCheckedDigits = 4_301;

/** Returns whether a text may exceed a limit. A few native searches exclude this for nearly every document. */
function mayBreakLimits(text: string): boolean {
  return text.length > minCheckedDepth && (hasMany(text, "[") || hasMany(text, "{") || hasLongNumber(text));
}

function hasMany(text: string, bracket: string): boolean {
  let at = -1;
  // Checking half of the depth is sufficient, because the other half can consist of the other bracket.
  for (let count = 0; count < minCheckedDepth / 2; count += 1) {
    at = text.indexOf(bracket, at + 1);
    if (at < 0) return false;
  }
  return isDeep(text);
}

function isDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > minCheckedDepth) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
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

/** Returns the position of an index in UTF-16 units, in one pass without copies. */
export function locatePosition(text: string, index: number): JsonPosition {
  let at = 0;
  let line = 1;
  let lineStart = 0;
  for (let i = 0; i < index; i += 1) {
    const code = text.charCodeAt(i);
    if (isLowSurrogate(code) && i > 0 && isHighSurrogate(text.charCodeAt(i - 1))) continue;
    at += 1;
    if (code !== 0x0a) continue;
    line += 1;
    lineStart = at;
  }
  return { at, line, column: at - lineStart + 1 };
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;
