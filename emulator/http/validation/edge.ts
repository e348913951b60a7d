import type * as z from "zod";
import { type Fields, lastOf } from "../bodies/form.ts";
import { type Read, reads } from "./lax.ts";
import { definitionOf, kindOf, unwrap } from "./schema.ts";

const asIs: Read = (text) => text;

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
