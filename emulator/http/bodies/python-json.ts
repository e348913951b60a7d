import { lookupTable } from "../../../src/base/lookup-table.ts";

// By hand: errors quote numbers, messages and positions as Python does, and JSON.parse keeps none of the three.

/** A number as it was written: `1.0`, `1e3`, `-0`, or any length of digits. */
export class SourceNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON document that lost nothing: objects keep their order, numbers their digits. */
export type SourceValue =
  | string
  | boolean
  | null
  | SourceNumber
  | readonly SourceValue[]
  | ReadonlyMap<string, SourceValue>;

/** What CPython's decoder says about a document, and the index (UTF-16 units) of the character where it says so. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Nested deeper than Python's recursion limit, or an integer longer than its limit of 4,300 digits. */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
}

const maxDepth = 1_000;
const maxDigits = 4_300;
const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const words: ReadonlyMap<string, SourceValue> = new Map<string, SourceValue>([
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", new SourceNumber("NaN")],
  ["Infinity", new SourceNumber("Infinity")],
  ["-Infinity", new SourceNumber("-Infinity")],
]);
const escapes = lookupTable<string>({
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
 * Parses as CPython 3.11 does (NaN and Infinity included), without losing how numbers were written. Follows
 * Modules/_json.c function by function, because the position that an error names depends on its order of looking.
 * Fails with JsonSyntaxError or JsonLimitError.
 */
export function parsePythonJson(text: string): SourceValue {
  const reader = new Reader(text);
  const value = reader.value(reader.skip(0), 0);
  const end = reader.skip(reader.next);
  if (end !== text.length) throw new JsonSyntaxError("Extra data", end);
  return value;
}

class Reader {
  readonly #text: string;
  /** Index after the value that was read last. */
  next = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The index of the first character at or after `at` that is not white space. */
  skip(at: number): number {
    space.lastIndex = at;
    space.test(this.#text);
    return space.lastIndex;
  }

  value(at: number, depth: number): SourceValue {
    const first = this.#text[at];
    if (first === '"') return this.#string(at + 1);
    if (first === "{" || first === "[") {
      if (depth >= maxDepth) throw new JsonLimitError("nested too deeply");
      return first === "{" ? this.#object(at + 1, depth + 1) : this.#array(at + 1, depth + 1);
    }
    for (const [word, value] of words) {
      if (this.#text.startsWith(word, at)) {
        this.next = at + word.length;
        return value;
      }
    }
    return this.#number(at);
  }

  #number(at: number): SourceNumber {
    number.lastIndex = at;
    const match = number.exec(this.#text);
    if (!match) throw new JsonSyntaxError("Expecting value", at);
    const [text, fraction, exponent] = match;
    if (!fraction && !exponent && text.replace("-", "").length > maxDigits) {
      throw new JsonLimitError("an integer of more than 4300 digits");
    }
    this.next = number.lastIndex;
    return new SourceNumber(text);
  }

  #object(start: number, depth: number): SourceValue {
    const members = new Map<string, SourceValue>();
    let at = this.skip(start);
    if (this.#text[at] === "}") {
      this.next = at + 1;
      return members;
    }
    for (;;) {
      if (this.#text[at] !== '"') throw new JsonSyntaxError("Expecting property name enclosed in double quotes", at);
      const key = this.#string(at + 1);
      at = this.skip(this.next);
      if (this.#text[at] !== ":") throw new JsonSyntaxError("Expecting ':' delimiter", at);
      members.set(key, this.value(this.skip(at + 1), depth));
      at = this.skip(this.next);
      if (this.#text[at] === "}") break;
      if (this.#text[at] !== ",") throw new JsonSyntaxError("Expecting ',' delimiter", at);
      at = this.skip(at + 1);
    }
    this.next = at + 1;
    return members;
  }

  #array(start: number, depth: number): SourceValue {
    const items: SourceValue[] = [];
    let at = this.skip(start);
    if (this.#text[at] === "]") {
      this.next = at + 1;
      return items;
    }
    for (;;) {
      items.push(this.value(at, depth));
      at = this.skip(this.next);
      if (this.#text[at] === "]") break;
      if (this.#text[at] !== ",") throw new JsonSyntaxError("Expecting ',' delimiter", at);
      at = this.skip(at + 1);
    }
    this.next = at + 1;
    return items;
  }

  /** `start` is the index after the opening quote. */
  #string(start: number): string {
    let out = "";
    let from = start;
    for (let at = start; ; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (Number.isNaN(code)) throw new JsonSyntaxError("Unterminated string starting at", start - 1);
      if (code <= 0x1f) throw new JsonSyntaxError("Invalid control character at", at);
      if (code === 0x22) {
        this.next = at + 1;
        return out + this.#text.slice(from, at);
      }
      if (code !== 0x5c) continue;
      out += this.#text.slice(from, at);
      const letter = this.#text[at + 1];
      if (letter === undefined) throw new JsonSyntaxError("Unterminated string starting at", start - 1);
      if (letter === "u") {
        out += String.fromCharCode(this.#unit(at + 1));
        at += 5;
      } else {
        const character = escapes[letter];
        if (character === undefined) throw new JsonSyntaxError("Invalid \\escape", at);
        out += character;
        at += 1;
      }
      from = at + 1;
    }
  }

  /** The code unit of a `uXXXX`, given the index of its `u`; at least one character must follow the digits. */
  #unit(at: number): number {
    const digits = this.#text.slice(at + 1, at + 5);
    if (at + 5 >= this.#text.length || !/^[0-9a-fA-F]{4}$/.test(digits)) {
      throw new JsonSyntaxError("Invalid \\uXXXX escape", at);
    }
    return Number.parseInt(digits, 16);
  }
}

/** The same document as JavaScript's JSON.parse would give it; NaN and Infinity as such. */
export function plainValue(value: SourceValue): unknown {
  if (value instanceof SourceNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plainValue);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [key, plainValue(member)]));
  return value;
}
