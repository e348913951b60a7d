import type * as z from "zod";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import type { Issue } from "../dialects/problem.ts";
import { kindOf, schemaAt } from "./schema.ts";

const integer = /^\s*[-+]?\d+(?:_\d+)*(?:\.0+)?\s*$/;
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["true", "t", "yes", "y", "on", "1"].map((word) => [word, true] as const),
  ...["false", "f", "no", "n", "off", "0"].map((word) => [word, false] as const),
]);

/** Reads one string as pydantic would; what cannot be read stays a string, for validation to refuse. */
export type Read = (text: string) => unknown;

/** By kind of schema (`kindOf`); any other kind takes the text as it is. */
export const reads = lookupTable<Read>({
  int: (text) => (integer.test(text) ? Number(text.replaceAll("_", "")) : text),
  number: (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text),
  boolean: (text) => truths.get(text.toLowerCase()) ?? text,
});

/**
 * A body in which every value that pydantic reads although the schema speaks of another type is that other type: `"201"`
 * is 201, 1 is true (DECISIONS.md, P13). Undefined when none of the issues is of that sort. `body` stays as it is.
 */
export function readLaxly(schema: z.ZodType, body: unknown, issues: readonly Issue[]): unknown {
  let read: unknown;
  const own = new WeakSet();
  for (const { code, path } of issues) {
    if (code !== "invalid_type") continue;
    const kind = kindOf(schemaAt(schema, path));
    read = replaced(read ?? body, path, (value) => otherType(kind, value), own) ?? read;
  }
  return read;
}

function otherType(kind: string, value: unknown): unknown {
  if (typeof value === "string") return reads[kind]?.(value) ?? value;
  if (typeof value === "boolean" && (kind === "int" || kind === "number")) return Number(value);
  if (kind === "boolean" && (value === 0 || value === 1)) return value === 1;
  return value;
}

/** A copy with another value at the path; undefined when it stays the same. What is copied already, is in `own`. */
function replaced(
  at: unknown,
  path: readonly PropertyKey[],
  change: (value: unknown) => unknown,
  own: WeakSet<object>,
): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    const value = change(at);
    return value === at ? undefined : value;
  }
  if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
  const inner = replaced((at as Record<PropertyKey, unknown>)[key], rest, change, own);
  if (inner === undefined) return undefined;
  // Copied once, however many values of a long list are read so.
  const copy = own.has(at) ? at : Array.isArray(at) ? [...at] : { ...at };
  own.add(copy);
  // Defined, since an assignment to `__proto__` would set the prototype.
  Object.defineProperty(copy, key, { value: inner, writable: true, enumerable: true, configurable: true });
  return copy;
}
