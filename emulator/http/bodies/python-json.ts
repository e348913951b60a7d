import { lookupTable } from "../../../src/base/object.ts";

// The parser is written here because errors quote numbers, messages and positions as Python does, and JSON.parse
// preserves none of these (ARCHITECTURE.md, Written by hand).

/** A number as written: `1.0`, `1e3`, `-0`, or any number of digits. */
export class SourceNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A lossless JSON document, in which objects preserve their order and numbers their digits. */
type SourceValue = string | boolean | null | SourceNumber | readonly SourceValue[] | ReadonlyMap<string, SourceValue>;

/** CPython's decoder rejects the document. `at` is the index of the character, in UTF-16 units. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** The document exceeds Python's recursion limit, or contains an integer that is longer than Python's limit. */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
}

/** The document contains the named constant, such as NaN, and the reader rejects those. */
export class JsonConstantError extends Error {
  override readonly name = "JsonConstantError";
}

/** Limits of nesting, and of the digits of an integer. */
export const pythonLimits = { depth: 1_000, digits: 4_300 } as const;

const spacePattern = /[ \t\n\r]*/y;
const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
/** The value is undefined for a word that is a number. */
const literalValues: ReadonlyMap<string, boolean | null | undefined> = new Map([
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", undefined],
  ["Infinity", undefined],
  ["-Infinity", undefined],
]);
const escapedCharacters = lookupTable<string>({
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
});

/**
 * Parses as CPython 3.11 does, including NaN and Infinity, and preserves the spelling of numbers. The code follows
 * Modules/_json.c function by function, because the position in an error depends on the order of its checks. Throws
 * JsonSyntaxError or JsonLimitError, and with `rejectsNaN` JsonConstantError, as Django REST framework does.
 */
export function parsePythonJson(text: string, rejectsNaN = false): SourceValue {
  const reader = new JsonReader(text, rejectsNaN);
  const value = reader.readValue(reader.skipSpace(0), 0);
  const end = reader.skipSpace(reader.next);
  if (end !== text.length) throw new JsonSyntaxError("Extra data", end);
  return value;
}

/** Converts a document to the values that JSON.parse returns. NaN and Infinity remain numbers. */
export function toPlainValue(value: SourceValue): unknown {
  if (value instanceof SourceNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(toPlainValue);
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, member]) => [name, toPlainValue(member)]));
  return value;
}

class JsonReader {
  readonly #text: string;
  readonly #rejectsNaN: boolean;
  /** Index after the last value that was read. */
  next = 0;

  constructor(text: string, rejectsNaN: boolean) {
    this.#text = text;
    this.#rejectsNaN = rejectsNaN;
  }

  /** Returns the index of the first character at or after `at` that is not white space. */
  skipSpace(at: number): number {
    spacePattern.lastIndex = at;
    spacePattern.test(this.#text);
    return spacePattern.lastIndex;
  }

  readValue(at: number, depth: number): SourceValue {
    const first = this.#text[at];
    if (first === '"') return this.#readString(at + 1);
    if (first === "{" || first === "[") {
      if (depth >= pythonLimits.depth) throw new JsonLimitError("is nested too deeply");
      return first === "{" ? this.#readObject(at + 1, depth + 1) : this.#readArray(at + 1, depth + 1);
    }
    for (const [word, value] of literalValues) {
      if (this.#text.startsWith(word, at)) {
        this.next = at + word.length;
        if (value !== undefined) return value;
        if (!this.#rejectsNaN) return new SourceNumber(word);
        throw new JsonConstantError(word);
      }
    }
    return this.#readNumber(at);
  }

  #readNumber(at: number): SourceValue {
    numberPattern.lastIndex = at;
    const match = numberPattern.exec(this.#text);
    if (!match) throw new JsonSyntaxError("Expecting value", at);
    const [text, fraction, exponent] = match;
    if (!fraction && !exponent && text.replace("-", "").length > pythonLimits.digits) {
      throw new JsonLimitError(`has an integer of more than ${pythonLimits.digits} digits`);
    }
    this.next = numberPattern.lastIndex;
    return new SourceNumber(text);
  }

  #readObject(start: number, depth: number): SourceValue {
    const members = new Map<string, SourceValue>();
    this.#readList(start, "}", (at) => {
      if (this.#text[at] !== '"') throw new JsonSyntaxError("Expecting property name enclosed in double quotes", at);
      const key = this.#readString(at + 1);
      const colon = this.skipSpace(this.next);
      if (this.#text[colon] !== ":") throw new JsonSyntaxError("Expecting ':' delimiter", colon);
      members.set(key, this.readValue(this.skipSpace(colon + 1), depth));
    });
    return members;
  }

  #readArray(start: number, depth: number): SourceValue {
    const items: SourceValue[] = [];
    this.#readList(start, "]", (at) => items.push(this.readValue(at, depth)));
    return items;
  }

  /** Calls `readItem` with the start of each item. `readItem` must set `next`. */
  #readList(start: number, end: "}" | "]", readItem: (at: number) => void): void {
    let at = this.skipSpace(start);
    if (this.#text[at] !== end) {
      for (;;) {
        readItem(at);
        at = this.skipSpace(this.next);
        if (this.#text[at] === end) break;
        if (this.#text[at] !== ",") throw new JsonSyntaxError("Expecting ',' delimiter", at);
        at = this.skipSpace(at + 1);
      }
    }
    this.next = at + 1;
  }

  /** Reads a string. `start` is the index after the opening quote. */
  #readString(start: number): string {
    let value = "";
    let runStart = start;
    for (let at = start; ; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (Number.isNaN(code)) throw new JsonSyntaxError("Unterminated string starting at", start - 1);
      if (code <= 0x1f) throw new JsonSyntaxError("Invalid control character at", at);
      if (code === 0x22) {
        this.next = at + 1;
        return value + this.#text.slice(runStart, at);
      }
      if (code !== 0x5c) continue;
      value += this.#text.slice(runStart, at);
      const letter = this.#text[at + 1];
      if (letter === undefined) throw new JsonSyntaxError("Unterminated string starting at", start - 1);
      if (letter === "u") {
        value += String.fromCharCode(this.#readCodeUnit(at + 1));
        at += 5;
      } else {
        const character = escapedCharacters[letter];
        if (character === undefined) throw new JsonSyntaxError("Invalid \\escape", at);
        value += character;
        at += 1;
      }
      runStart = at + 1;
    }
  }

  /** Reads a `uXXXX` escape, with the `u` at `at`. At least one character must follow the digits. */
  #readCodeUnit(at: number): number {
    const digits = this.#text.slice(at + 1, at + 5);
    if (at + 5 >= this.#text.length || !/^[0-9a-fA-F]{4}$/.test(digits)) {
      throw new JsonSyntaxError("Invalid \\uXXXX escape", at);
    }
    return Number.parseInt(digits, 16);
  }
}
