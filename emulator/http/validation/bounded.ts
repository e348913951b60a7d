import type * as z from "zod";
import { definitionOf } from "./schema.ts";

/** So many problems of one list are looked for; a real service tells them all (DECISIONS.md, E11). */
export const mostProblems = 1_000;

/**
 * The same schema, which looks for no more problems in a list once it has found so many: of a list of millions of wrong
 * values, the problems alone are more than the memory holds. It refuses and accepts the same values.
 */
export function bounded(schema: z.ZodType): z.ZodType {
  const { type, shape, element, valueType, innerType, options } = definitionOf(schema);
  if (type === "object" && shape) {
    const fields = Object.entries(shape).map(([name, field]) => [name, bounded(field)]);
    return changed(schema, { shape: Object.fromEntries(fields) });
  }
  if (type === "array" && element) return counting(schema, "element", bounded(element));
  if (type === "record" && valueType) return counting(schema, "valueType", bounded(valueType));
  if (type === "union" && options) return changed(schema, { options: options.map(bounded) });
  return innerType ? changed(schema, { innerType: bounded(innerType) }) : schema;
}

const changed = (schema: z.ZodType, parts: object): z.ZodType =>
  schema.clone({ ...schema._zod.def, ...parts } as typeof schema._zod.def);

/** A list that runs its items past a count of its own: skipped items cannot make it right, for it is wrong already. */
function counting(schema: z.ZodType, part: "element" | "valueType", item: z.ZodType): z.ZodType {
  let found = 0;
  const counted = item.clone();
  const runItem = counted._zod.run;
  counted._zod.run = (payload, context) => {
    if (found >= mostProblems) return payload;
    const came = runItem(payload, context);
    if ("issues" in came) found += came.issues.length;
    return came;
  };
  const list = changed(schema, { [part]: counted });
  const runList = list._zod.run;
  list._zod.run = (payload, context) => {
    found = 0;
    return runList(payload, context);
  };
  return list;
}
