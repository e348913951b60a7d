import type * as z from "zod";
import { markExactNumbers } from "../../../src/base/json.ts";
import { isObject } from "../../../src/base/object.ts";

interface SchemaDefinition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  /** Schema of undeclared fields. Undefined if undeclared fields are dropped. */
  readonly catchall?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly format?: string;
  readonly check?: string;
  readonly checks?: readonly unknown[];
}

export const getSchemaDefinition = (schema: z.ZodType): SchemaDefinition =>
  schema._zod.def as unknown as SchemaDefinition;

/** Returns the schema inside optional, nullable, default and other wrappers. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  const { type, innerType, in: input } = getSchemaDefinition(schema);
  if (innerType) return unwrapSchema(innerType);
  if (type === "pipe" && input) return unwrapSchema(input);
  return schema;
}

/** Returns the schema at an issue's path. Returns undefined within unions and open objects. */
export function findSchema(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let at: z.ZodType | undefined = schema;
  for (const key of path) {
    if (!at) return undefined;
    const { shape, element, valueType } = getSchemaDefinition(unwrapSchema(at));
    const name = String(key);
    at = shape ? (Object.hasOwn(shape, name) ? shape[name] : undefined) : (element ?? valueType);
  }
  return at && unwrapSchema(at);
}

/** Returns the kind of a value of the schema: `int`, `number`, `boolean`, `array`, `string`, … */
export function getSchemaKind(schema: z.ZodType | undefined): string {
  if (!schema) return "unknown";
  const { type, format } = getSchemaDefinition(unwrapSchema(schema));
  return type === "number" && format?.includes("int") ? "int" : type;
}

/** Returns whether every field is a required string with any content, so that nothing needs parsing. */
export const acceptsAnyStrings = (schema: z.ZodObject): boolean =>
  Object.values(schema.shape).every((field) => {
    const { type, checks, check } = getSchemaDefinition(field as z.ZodType);
    return type === "string" && !checks?.length && !check;
  });

/**
 * Replaces the numbers of a validated value with the numbers of the source document where the schema allows any value.
 */
type NumberKeeper = (value: unknown, exact: unknown) => unknown;

/**
 * Creates a function that keeps numbers as written. Returns undefined if the schema declares the type of every number.
 */
export function createNumberKeeper(schema: z.ZodType): NumberKeeper | undefined {
  const { type, shape, element, valueType } = getSchemaDefinition(unwrapSchema(schema));
  if (type === "unknown" || type === "any") return markExactNumbers;
  if (shape) return createFieldKeeper(shape);
  const keep = element
    ? createNumberKeeper(element)
    : type === "record" && valueType
      ? createNumberKeeper(valueType)
      : undefined;
  if (!keep) return undefined;
  return (value, exact) => {
    if (Array.isArray(value) && Array.isArray(exact)) return value.map((item, at) => keep(item, exact[at]));
    if (!isObject(value) || !isObject(exact)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, keep(inner, exact[name])]));
  };
}

function createFieldKeeper(shape: Readonly<Record<string, z.ZodType>>): NumberKeeper | undefined {
  const keepers = Object.entries(shape).flatMap(([name, field]) => {
    const keep = createNumberKeeper(field);
    return keep ? [[name, keep] as const] : [];
  });
  if (keepers.length === 0) return undefined;
  return (value, exact) => {
    if (!isObject(value) || !isObject(exact)) return value;
    const kept = keepers.filter(([name]) => value[name] !== undefined);
    return { ...value, ...Object.fromEntries(kept.map(([name, keep]) => [name, keep(value[name], exact[name])])) };
  };
}
