import type * as z from "zod";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import { type Fields, lastOf } from "../bodies/form.ts";
import { definitionOf, kindOf, unwrap } from "./schema.ts";

const integer = /^\s*[-+]?\d+(?:_\d+)*(?:\.0+)?\s*$/;
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["true", "t", "yes", "y", "on", "1"].map((word) => [word, true] as const),
  ...["false", "f", "no", "n", "off", "0"].map((word) => [word, false] as const),
]);

/** Reads one string as pydantic would; what cannot be read stays a string, for validation to refuse. */
type Read = (text: string) => unknown;

const asIs: Read = (text) => text;
const reads = lookupTable<Read>({
  int: (text) => (integer.test(text) ? Number(text.replaceAll("_", "")) : text),
  number: (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text),
  boolean: (text) => truths.get(text.toLowerCase()) ?? text,
});

/** Turns the strings of a path, a query or the headers into what the schema speaks of. */
export function edgeOf(schema: z.ZodObject): (fields: Fields) => Record<string, unknown> {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const inner = unwrap(field as z.ZodType);
    const { type, element } = definitionOf(inner);
    const list = type === "array";
    return { name, list, read: reads[kindOf(list ? element : inner)] ?? asIs };
  });
  return (given) => {
    const out: Record<string, unknown> = Object.create(null);
    // Names that nobody declares come along: the schema says whether they matter.
    for (const name of Object.keys(given)) out[name] = lastOf(given[name]);
    for (const { name, list, read } of fields) {
      const value = given[name];
      if (value === undefined) continue;
      out[name] = list ? [value].flat().map((text) => read(text as string)) : read(lastOf(value)!);
    }
    return out;
  };
}
