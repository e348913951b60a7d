import type * as z from "zod";
import { markExactNumbers } from "../../../src/base/json.ts";
import { getValueAt, isObject } from "../../../src/base/object.ts";

export type RequestPart = "path" | "query" | "header" | "body";
export type ValidationIssue = z.core.$ZodIssue;

/** One problem of a request, as reported by zod. */
export interface ValidationProblem {
  readonly part: RequestPart;
  readonly issue: ValidationIssue;
  readonly schema: z.ZodType;
  /** The complete part: fields as strings, or the JSON document with its numbers as written. */
  readonly source: unknown;
}

interface SchemaDefinition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  /** Schema of undeclared fields. Undefined if undeclared fields are dropped. */
  readonly catchall?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly format?: string;
}

export const getSchemaDefinition = (schema: z.ZodType): SchemaDefinition =>
  schema._zod.def as unknown as SchemaDefinition;

/** Returns the schema inside optional, nullable, default and other wrappers. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  const { innerType } = getSchemaDefinition(schema);
  return innerType ? unwrapSchema(innerType) : schema;
}

/** Returns the schema of a member or an item. Returns undefined for an undeclared member. */
function getMemberSchema({ shape, element, valueType }: SchemaDefinition, name: PropertyKey): z.ZodType | undefined {
  if (!shape) return element ?? valueType;
  return Object.hasOwn(shape, name) ? shape[String(name)] : undefined;
}

/** Returns the schema at an issue's path. Returns undefined within unions and open objects. */
export function findSchema(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let current: z.ZodType | undefined = schema;
  for (const key of path) current = current && getMemberSchema(getSchemaDefinition(unwrapSchema(current)), key);
  return current && unwrapSchema(current);
}

/** Returns the kind of a value of the schema: `int`, `number`, `boolean`, `array`, `string`, … */
export function getSchemaKind(schema: z.ZodType | undefined): string {
  if (!schema) return "unknown";
  const { type, format } = getSchemaDefinition(unwrapSchema(schema));
  return type === "number" && format?.includes("int") ? "int" : type;
}

/** Returns whether a part of the schema accepts any value, so that its numbers keep the text of the source document. */
export function hasFreePart(schema: z.ZodType): boolean {
  const { type, shape = {}, element, valueType } = getSchemaDefinition(unwrapSchema(schema));
  if (type === "unknown" || type === "any") return true;
  return [element, valueType, ...Object.values(shape)].some((part) => part !== undefined && hasFreePart(part));
}

/** Restores the numbers of the source document where the schema allows any value. */
export function restoreSourceNumbers(schema: z.ZodType, value: unknown, source: unknown): unknown {
  const definition = getSchemaDefinition(unwrapSchema(schema));
  if (definition.type === "unknown" || definition.type === "any") return markExactNumbers(value, source);
  const restoreMember = (member: unknown, name: string | number) => {
    const memberSchema = getMemberSchema(definition, name);
    return memberSchema ? restoreSourceNumbers(memberSchema, member, getValueAt(source, [name])) : member;
  };
  if (Array.isArray(value)) return value.map(restoreMember);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, restoreMember(member, name)]));
}
