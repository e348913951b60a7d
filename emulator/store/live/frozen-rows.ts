import * as z from "zod";
import { madeOnce } from "../../../src/base/made-once.ts";

/** Kinds of values that nothing can change. */
const unchangeable: ReadonlySet<string> = new Set(["string", "number", "boolean", "enum", "literal", "null"]);

/**
 * Freezes the rows of a schema, which are handed out by reference: nothing in them may change. Only into fields that may
 * hold lists and objects it looks: to ask every field of every row is felt, and most rows have no such field.
 */
export const freezerOf = madeOnce(freezerFor);

function freezerFor(schema: z.ZodType): (row: object) => void {
  const nested = nestedFields(schema);
  if (nested === undefined) return freeze;
  return (row) => {
    Object.freeze(row);
    for (const name of nested) freezePart(row[name as keyof object]);
  };
}

/** The fields that may hold lists and objects; undefined where the schema does not name all that there are. */
function nestedFields(schema: z.ZodType): readonly string[] | undefined {
  if (!(schema instanceof z.ZodObject) || !(schema.def.catchall instanceof z.ZodNever)) return undefined;
  return Object.keys(schema.shape).filter((name) => !unchangeable.has(kindOf(schema.shape[name])));
}

const kindOf = (field: z.ZodType): string =>
  field instanceof z.ZodNullable || field instanceof z.ZodOptional
    ? kindOf(field.unwrap() as z.ZodType)
    : field.def.type;

function freeze(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const name in value) freezePart(value[name as keyof object]);
}

function freezePart(part: unknown): void {
  if (typeof part === "object" && part !== null) freeze(part);
}
