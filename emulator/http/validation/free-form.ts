import type * as z from "zod";
import { isObject } from "../../../src/base/object.ts";
import { withWrittenNumbers } from "../../../src/base/written-numbers.ts";
import { definitionOf, unwrap } from "./schema.ts";

/** Gives a value that was validated the numbers of the same document as it was written, where anything may stand. */
export type KeepNumbers = (value: unknown, exact: unknown) => unknown;

/** Undefined where the schema says of every number what it is. */
export function numberKeeper(schema: z.ZodType): KeepNumbers | undefined {
  const { type, shape, element, valueType } = definitionOf(unwrap(schema));
  if (type === "unknown" || type === "any") return withWrittenNumbers;
  if (shape) return keeperOfFields(shape);
  const keep = element ? numberKeeper(element) : type === "record" && valueType ? numberKeeper(valueType) : undefined;
  if (!keep) return undefined;
  return (value, exact) => {
    if (Array.isArray(value) && Array.isArray(exact)) return value.map((item, at) => keep(item, exact[at]));
    if (!isObject(value) || !isObject(exact)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, keep(inner, exact[name])]));
  };
}

function keeperOfFields(shape: Readonly<Record<string, z.ZodType>>): KeepNumbers | undefined {
  const keepers = Object.entries(shape).flatMap(([name, field]) => {
    const keep = numberKeeper(field);
    return keep ? [[name, keep] as const] : [];
  });
  if (keepers.length === 0) return undefined;
  return (value, exact) => {
    if (!isObject(value) || !isObject(exact)) return value;
    const kept = keepers.filter(([name]) => value[name] !== undefined);
    return { ...value, ...Object.fromEntries(kept.map(([name, keep]) => [name, keep(value[name], exact[name])])) };
  };
}
