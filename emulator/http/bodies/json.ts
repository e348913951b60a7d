import { restoreExactNumbers } from "../../../src/base/json.ts";
import { exceededBodyLimit } from "./body-limits.ts";
import { JsonLimitError, parsePlainJson, parsePythonJson } from "./python-json.ts";

/** A decoded body: its value, and what of it an error message quotes. */
export interface DecodedBody {
  readonly value: unknown;
  /** The document with its numbers as written; made only when something is to be quoted. */
  readonly source: () => unknown;
  /** The document with those numbers as written that a double would change; undefined if there are none. */
  readonly exact?: () => unknown;
  /** Its length as a string. */
  readonly length: number;
  /** Whether its fields came as a form. */
  readonly isForm?: boolean;
}

/** In a longer document, numbers are quoted as JavaScript writes them: as written they weigh ten times as much. */
const maxExactLength = 1_000_000;

/**
 * Parses JSON text. V8 does the work; the exact parser looks only at what V8 rejects (for CPython's words, or because
 * it is NaN) and at what may break one of Python's limits. Fails with JsonSyntaxError or JsonLimitError. `mayBeHeavy`:
 * from a caller that may send more than usual.
 */
export function parseJson(text: string, mayBeHeavy = false): DecodedBody {
  const heavy = mayBeHeavy ? undefined : exceededBodyLimit(text);
  if (heavy !== undefined) throw new JsonLimitError(heavy);
  const value = parsed(text);
  const { length } = text;
  const source = () => (length > maxExactLength ? value : parsePythonJson(text));
  return { value, source, exact: () => exactly(text, value), length };
}

function exactly(text: string, value: unknown): unknown {
  try {
    const exact = restoreExactNumbers(text, value);
    return exact === value ? undefined : exact;
  } catch {
    // Python reads more than JSON is, such as NaN.
    return undefined;
  }
}

function parsed(text: string): unknown {
  if (mayBreakLimits(text)) return parsePlainJson(text);
  try {
    return JSON.parse(text);
  } catch {
    return parsePlainJson(text);
  }
}

const depthToLookAt = 1_000;
const digitsToLookAt = 4_301;

/** False for nearly every document, at the price of a few native searches. */
function mayBreakLimits(text: string): boolean {
  return text.length > depthToLookAt && (hasMany(text, "[") || hasMany(text, "{") || hasLongNumber(text));
}

function hasMany(text: string, bracket: string): boolean {
  let at = -1;
  // Half the depth is enough: the other half could be of the other bracket.
  for (let count = 0; count < depthToLookAt / 2; count += 1) {
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
      if (depth > depthToLookAt) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return false;
}

/** A run of 4,301 digits covers an index that is a multiple of 4,300, so only those are looked at. */
function hasLongNumber(text: string): boolean {
  for (let probe = digitsToLookAt - 1; probe < text.length; probe += digitsToLookAt - 1) {
    if (!isDigit(text, probe)) continue;
    let start = probe;
    let end = probe;
    while (isDigit(text, start - 1)) start -= 1;
    while (isDigit(text, end + 1)) end += 1;
    if (end - start + 1 >= digitsToLookAt) return true;
  }
  return false;
}

const isDigit = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
};

/** A place in a document as Python names it: all in code points, `line` and `column` from 1. */
export interface JsonPosition {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/** The place of an index in UTF-16 units. One pass and no copies, however long the document is. */
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
