import { ExactNumber } from "./exact-json.ts";
import { isObject } from "./object.ts";

/*
 * Free-form values whose numbers a double would change, in a form that every document of JSON can hold: a number such as
 * 1.10 is an object with one member, which no caller has a reason to send.
 */
const member = "\u0000number";
const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The value, with the numbers of `exact`, which is the same document as it was written. */
export function withWrittenNumbers(value: unknown, exact: unknown): unknown {
  if (exact instanceof ExactNumber) return numberText.test(exact.text) ? { [member]: exact.text } : value;
  if (Array.isArray(value) && Array.isArray(exact)) return value.map((item, at) => withWrittenNumbers(item, exact[at]));
  if (!isObject(value) || !isObject(exact)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withWrittenNumbers(inner, ownMember(exact, name))]),
  );
}

const ownMember = (of: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(of, name) ? of[name] : undefined;

// Inside a string the quotes would have backslashes before them.
const written = /\{"\\u0000number":"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"\}/g;

/** The JSON text of a document, with its numbers as they were written. */
export function writtenJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text?.includes('{"\\u0000number":"') ? text.replace(written, "$1") : text;
}

/** The same value with plain numbers: for what computes with them. */
export function computable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(computable);
  if (!isObject(value)) return value;
  const { [member]: text } = value;
  if (typeof text === "string" && numberText.test(text) && Object.keys(value).length === 1) return Number(text);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, computable(inner)]));
}
