import { getValueAt, isObject, toFields } from "./object.ts";

/** JSON number that a double would change: `1.0`, `7e12345`, or an integer of 17 digits. */
class ExactNumber {
  /** The original spelling. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
    hasExactNumbers = true;
  }

  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): number {
    return Number(this.text);
  }
}

export const isExactNumber = (value: unknown): boolean => value instanceof ExactNumber;

/** Most documents contain no such number, so no code copies or serializes them the slow way. */
let hasExactNumbers = false;

/** Returns a parsed document in which the numbers that parsing changed have their original spelling. */
export function restoreExactNumbers(text: string, parsed: unknown): unknown {
  const found = findChangedNumbers(text);
  if (found.length === 0) return parsed;
  let markedText = "";
  let end = 0;
  for (const [from, to] of found) {
    markedText += text.slice(end, from) + JSON.stringify({ [numberMember]: text.slice(from, to) });
    end = to;
  }
  return JSON.parse(markedText + text.slice(end), (_, value: unknown) => {
    const number = getMarkedNumber(value);
    return number === undefined ? value : new ExactNumber(number);
  });
}

/** Serializes a value, with exact numbers in their original spelling. Indentation that makes it too long is omitted. */
export function stringifyExact(value: unknown, indent?: number): string {
  const markNumber = function (this: Record<string, unknown>, key: string, plain: unknown) {
    const original = this[key];
    return original instanceof ExactNumber ? { [numberMember]: original.text } : plain;
  };
  try {
    if (!hasExactNumbers) return JSON.stringify(value, null, indent);
    return replaceMarks(JSON.stringify(value, markNumber, indent));
  } catch (error) {
    if (indent === undefined || !(error instanceof RangeError)) throw error;
    return stringifyExact(value);
  }
}

/** Returns the same value with plain numbers, for schemas. */
export function toPlainNumbers(value: unknown): unknown {
  if (!hasExactNumbers || typeof value !== "object" || value === null) return value;
  if (value instanceof ExactNumber) return value.valueOf();
  if (Array.isArray(value)) return value.map(toPlainNumbers);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toPlainNumbers(inner)]));
}

/** Finds the positions of the numbers in a JSON text that parsing changes. */
function findChangedNumbers(text: string): [from: number, to: number][] {
  const found: [number, number][] = [];
  // At least one character, so that the search also gets past the minus of Python's -Infinity.
  const number = /[\d.eE+-]+/y;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === '"') at = findStringEnd(text, at);
    else if (char === "-" || (char >= "0" && char <= "9")) {
      number.lastIndex = at;
      const [digits = ""] = number.exec(text) ?? [];
      if (String(Number(digits)) !== digits) found.push([at, at + digits.length]);
      at += digits.length - 1;
    }
  }
  return found;
}

/** Returns the position of the quote that ends the string, or the end of the text. */
export function findStringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text[before - 1] === "\\") before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}

/*
 * A number that a double would change, in a form that fits in any JSON document: 1.10 becomes an object with one field,
 * which no caller has a reason to send.
 */
const numberMember = "\u0000number";
const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function getMarkedNumber(value: unknown): string | undefined {
  const { [numberMember]: text } = toFields(value);
  const isMark = typeof text === "string" && numberText.test(text) && Object.keys(value as object).length === 1;
  return isMark ? text : undefined;
}

/** Returns the value with the numbers of `exact`. `exact` is the same document in its original spelling. */
export function markExactNumbers(value: unknown, exact: unknown): unknown {
  if (exact instanceof ExactNumber) return { [numberMember]: exact.text };
  if (Array.isArray(value) && Array.isArray(exact)) return value.map((item, at) => markExactNumbers(item, exact[at]));
  if (!isObject(value) || !isObject(exact)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, markExactNumbers(inner, getValueAt(exact, [name]))]),
  );
}

// In a string, the quotes are escaped, so the pattern does not match there.
const serializedNumber = /\{\s*"\\u0000number":\s*"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"\s*\}/g;

const replaceMarks = (json: string): string =>
  json?.includes('"\\u0000number":') ? json.replace(serializedNumber, "$1") : json;

/** Serializes a document with its numbers in their original spelling. */
export const toExactJson = (value: unknown): string => replaceMarks(JSON.stringify(value));

/** Returns the same value with plain numbers, for computations. */
export function toComputable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toComputable);
  if (!isObject(value)) return value;
  const number = getMarkedNumber(value);
  if (number !== undefined) return Number(number);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toComputable(inner)]));
}

export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, inner]) => [name, sortKeys(inner)]));
}

/** Formats of a JSON document: compact, with a space after each comma and colon, or ASCII only. */
const jsonForms = ["compact", "spaced", "escaped"] as const;
export type JsonForm = (typeof jsonForms)[number];

/** JSON formats of webhooks. `mixed` uses all formats in turn. */
export const webhookJsonForms = [...jsonForms, "mixed"] as const;
export type WebhookJsonForm = (typeof webhookJsonForms)[number];

export const getWebhookForm = (form: WebhookJsonForm, number: number): JsonForm =>
  form === "mixed" ? jsonForms[number % jsonForms.length]! : form;

/**
 * Rewrites a document in another format. Numbers and the order of keys are unchanged. `text` is the result of
 * `JSON.stringify`.
 */
export function writeJson(text: string, form: JsonForm): string {
  if (form === "spaced") return insertSpaces(text);
  if (form === "escaped") return text.replace(/[\u0080-\uffff]/g, escapeUnit);
  return text;
}

function insertSpaces(text: string): string {
  const pieces: string[] = [];
  let isString = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "\\") at += 1;
    else if (char === '"') isString = !isString;
    else if (!isString && (char === "," || char === ":")) {
      pieces.push(text.slice(from, at + 1));
      from = at + 1;
    }
  }
  return [...pieces, text.slice(from)].join(" ");
}

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
