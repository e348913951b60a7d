import type * as z from "zod";
import { isObject } from "../../base/object.ts";
import { findNearest } from "../../base/suggest.ts";

/**
 * Of a body that a person wrote: its fields that are misspelt, in sentences. Services pass over what they do not know
 * without a word, so such a field is lost. What is like no name that is declared is meant so, as in the events of apps.
 */
export function findMisspeltFields(schema: z.ZodType | undefined, body: unknown): string[] {
  const known = schema && fieldsOf(schema);
  if (known === undefined || !isObject(body)) return [];
  return Object.keys(body).flatMap((name) => {
    const near = known.includes(name) ? undefined : findNearest(name, known);
    if (near === undefined) return [];
    return [`${name} is not a declared field of the body and may be ignored. Did you mean ${near}?`];
  });
}

/** The fields of an object that knows them all; undefined of everything else. */
function fieldsOf(schema: z.ZodType): readonly string[] | undefined {
  const { type, shape, catchall, innerType } = (schema as z.ZodType & { def: Definition }).def;
  if (innerType !== undefined) return fieldsOf(innerType);
  return type === "object" && shape !== undefined && catchall === undefined ? Object.keys(shape) : undefined;
}

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly catchall?: unknown;
  readonly innerType?: z.ZodType;
}
