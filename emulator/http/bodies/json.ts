import { StacklessError } from "../../../src/base/errors.ts";
import { findStringEnd, restoreExactNumbers } from "../../../src/base/json.ts";
import {
  JsonConstantError,
  JsonLimitError,
  JsonSyntaxError,
  parsePythonJson,
  pythonLimits,
  toPlainValue,
} from "./python-json.ts";

/** A position in a document as Python counts it: in code points, with `line` and `column` from 1. */
interface JsonPosition {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/** Reason why a body could not be decoded, for the message of the dialect. */
export type DecodeProblem =
  | ({ readonly reason: "json"; readonly message: string } & JsonPosition)
  | { readonly reason: "encoding" }
  /** NaN, Infinity or -Infinity. */
  | { readonly reason: "constant"; readonly word: string }
  | { readonly reason: "limit"; readonly message: string }
  | { readonly reason: "media-type"; readonly type: string }
  | { readonly reason: "repeated"; readonly name: string }
  /** Message of the service's framework. */
  | { readonly reason: "multipart"; readonly message: string };

export class UnreadableBodyError extends StacklessError {
  override readonly name = "UnreadableBodyError";
  readonly problem: DecodeProblem;

  constructor(problem: DecodeProblem) {
    super(`unreadable body: ${problem.reason}`);
    this.problem = problem;
  }
}

/**
 * Limits of one body (DECISIONS.md, E11). A body of 64 MiB can contain more values than fit in memory, and parsing each
 * member name blocks other requests for microseconds.
 */
export const bodyLimits = { values: 5_000_000, members: 1_000_000, fields: 10_000, parts: 1_000 } as const;

/** Describes the limit that a JSON text exceeds. Returns undefined if the text exceeds none. */
export const findExceededLimit = (text: string): string | undefined =>
  // Each value or member needs at least two characters.
  text.length < 2 * bodyLimits.members ? undefined : describeExceededLimit(measureJson(text));

function describeExceededLimit({ values, members }: ReturnType<typeof measureJson>): string | undefined {
  if (members > bodyLimits.members) return `has more than ${bodyLimits.members} members`;
  return values > bodyLimits.values ? `has more than ${bodyLimits.values} values` : undefined;
}

/** Codes of the characters that structure a JSON text. */
const codes = {
  quote: 0x22,
  comma: 0x2c,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  list: 0x5b,
  listEnd: 0x5d,
  object: 0x7b,
  objectEnd: 0x7d,
} as const;

/**
 * Counts the parts of a JSON text before it is parsed, because the values of a hostile text may not fit in memory.
 * `depth` is the maximum number of open lists and objects, and `digits` that of consecutive digits.
 */
function measureJson(text: string) {
  const size = { values: 1, members: 0, depth: 0, digits: 0 };
  let depth = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= codes.zero && code <= codes.nine) {
      digits += 1;
      if (digits > size.digits) size.digits = digits;
      continue;
    }
    digits = 0;
    if (code === codes.quote) at = findStringEnd(text, at);
    else if (code === codes.colon) size.members += 1;
    else if (code === codes.comma) size.values += 1;
    else if (code === codes.list || code === codes.object) {
      size.values += 1;
      depth += 1;
      if (depth > size.depth) size.depth = depth;
    } else if (code === codes.listEnd || code === codes.objectEnd) depth -= 1;
  }
  return size;
}

/** Reports whether a text is nested so deeply that Python rejects it, and recursive functions exceed the stack. */
export const isTooDeep = (text: string): boolean =>
  text.length > pythonLimits.depth && measureJson(text).depth > pythonLimits.depth;

export const exceedsFieldLimit = (text: string): boolean =>
  text.split("&", bodyLimits.fields + 1).length > bodyLimits.fields;

/** A decoded body with its value and the source that an error message quotes. */
export interface DecodedBody {
  readonly value: unknown;
  /** Returns the document with its numbers as written. The document is created only if an error quotes it. */
  readonly getSource: () => unknown;
  /** Returns the document with numbers as written, or undefined if a double changes none of them. */
  readonly getExact?: () => unknown;
  readonly length: number;
  readonly isForm?: boolean;
}

/** Longer documents are not quoted exactly, because exact numbers take ten times the memory. */
const maxExactLength = 1_000_000;

/**
 * Parses JSON text. V8 parses the text. The exact parser runs only for text that V8 rejects and for text that may
 * exceed one of Python's limits. V8 rejects NaN, which Python accepts, and its messages differ from CPython's. Throws
 * UnreadableBodyError. `allowsLargeDocuments` is true for a client that can send more than usual.
 */
export function parseJson(text: string, { allowsLargeDocuments = false, rejectsNaN = false } = {}): DecodedBody {
  const { length } = text;
  const size = length > pythonLimits.depth ? measureJson(text) : undefined;
  const exceededLimit = size && !allowsLargeDocuments ? describeExceededLimit(size) : undefined;
  if (exceededLimit !== undefined) throw new UnreadableBodyError({ reason: "limit", message: exceededLimit });
  const mayExceedPython = size && (size.depth > pythonLimits.depth || size.digits > pythonLimits.digits);
  const value = mayExceedPython ? parseAsPython(text, rejectsNaN) : parseValue(text, rejectsNaN);
  const getSource = () => (length > maxExactLength ? value : parsePythonJson(text));
  return { value, getSource, getExact: () => parseExactly(text, value), length };
}

function parseValue(text: string, rejectsNaN: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parseAsPython(text, rejectsNaN);
  }
}

function parseAsPython(text: string, rejectsNaN: boolean): unknown {
  try {
    return toPlainValue(parsePythonJson(text, rejectsNaN));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof JsonLimitError) throw new UnreadableBodyError({ reason: "limit", message });
    if (error instanceof JsonConstantError) throw new UnreadableBodyError({ reason: "constant", word: message });
    if (error instanceof JsonSyntaxError)
      throw new UnreadableBodyError({ reason: "json", message, ...locatePosition(text, error.at) });
    throw error;
  }
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

/** Returns the position of an index in UTF-16 units. */
function locatePosition(text: string, index: number): JsonPosition {
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
