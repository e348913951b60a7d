import { SourceNumber } from "../bodies/python-json.ts";

/** So many characters of what was sent are quoted with one problem; a real service quotes all (DECISIONS.md, E11). */
const longestQuote = 65_536;

/** What an error quotes of the input: nothing as null, and a note in the place of what is too long. */
export const quoted = (input: unknown): unknown =>
  lengthLeft(input, longestQuote) < 0 ? `(left out: more than ${longestQuote} characters)` : (input ?? null);

/** What is left of a length once a value is written; below 0 as soon as it does not fit. */
function lengthLeft(value: unknown, length: number): number {
  if (typeof value === "string") return length - value.length - 2;
  if (value instanceof SourceNumber) return length - value.text.length;
  if (typeof value !== "object" || value === null) return length - 4;
  let left = length - 2;
  const members = value instanceof Map ? value : Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [name, member] of members) {
    left = lengthLeft(member, left - (typeof name === "string" ? name.length + 4 : 1));
    if (left < 0) break;
  }
  return left;
}
