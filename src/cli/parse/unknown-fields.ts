import type * as z from "zod";
import { isObject } from "../../base/object.ts";
import { nearest } from "../../base/suggest.ts";

/**
 * Of a body that a person wrote: its fields that the declaration does not know, in sentences. Services pass over such
 * fields without a word, so a misspelt one is lost.
 */
export function unknownFields(schema: z.ZodType | undefined, body: unknown): string[] {
  const known = schema && fieldsOf(schema);
  if (known === undefined || !isObject(body)) return [];
  return Object.keys(body)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearest(name, known);
      const hint = near === undefined ? "" : ` Did you mean ${near}?`;
      return `${name} is no declared field of the body, and may be passed over.${hint}`;
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
