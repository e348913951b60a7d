import type { Issue } from "../dialects/problem.ts";

/** Zod leaves the key `__proto__` of a dictionary out, unchecked; under this name it is a key like any other (DECISIONS.md, R1). */
const standIn = "\u0000__proto__";

/** The document under names that zod checks; the very same value when no key of it is `__proto__`. */
export const withoutProtoKey = (value: unknown): unknown => renamed(value, "__proto__", standIn);

/** The other way round. */
export const withProtoKey = (value: unknown): unknown => renamed(value, standIn, "__proto__");

/** An issue that names the key as it was sent. */
export function namedAsSent(issue: Issue): Issue {
  const asSent = (name: PropertyKey) => (name === standIn ? "__proto__" : name);
  const path = issue.path.map(asSent);
  return issue.code === "unrecognized_keys"
    ? { ...issue, path, keys: issue.keys.map((key) => String(asSent(key))) }
    : { ...issue, path };
}

function renamed(value: unknown, from: string, to: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const list = value.map((element) => renamed(element, from, to));
    return list.some((element, i) => element !== value[i]) ? list : value;
  }
  const entries = Object.entries(value);
  const after = entries.map(([name, inner]) => [name === from ? to : name, renamed(inner, from, to)] as const);
  const same = after.every(([name, inner], i) => name === entries[i]![0] && inner === entries[i]![1]);
  // `fromEntries` defines the key as its own, where an assignment would set the prototype.
  return same ? value : Object.fromEntries(after);
}
