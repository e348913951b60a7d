import type * as z from "zod";
import type { Operation } from "../api/operation.ts";
import { durationPattern } from "../base/quantities.ts";
import type { Paging, ValueType } from "./command-spec.ts";

export type JsonSchema = Record<string, unknown>;

export interface ScalarField {
  readonly name: string;
  /** Type of the flag. A field whose only value is `true` is a switch. */
  readonly type: ValueType | "switch";
  readonly description: string;
  readonly repeatable: boolean;
  readonly required: boolean;
  readonly isBase64: boolean;
  /** Whether the type or the choices are the only rule. */
  readonly isFree: boolean;
  readonly choices?: readonly string[];
  readonly placeholder?: string;
  readonly default?: string | number | boolean;
}

export const toInputSchema = (schema: z.ZodType): JsonSchema =>
  schema.toJSONSchema({ io: "input", unrepresentable: "any" }) as JsonSchema;

export const toOutputSchema = (schema: z.ZodType): JsonSchema =>
  schema.toJSONSchema({ io: "output", unrepresentable: "any" }) as JsonSchema;

/** Skips `null` in a union or in a list of types. */
function skipNull(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    return types.length === 1 ? { ...schema, type: types[0] } : schema;
  }
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  const nonNullChoices = choices?.filter(({ type }) => type !== "null");
  return nonNullChoices?.length === 1 ? { ...skipNull(nonNullChoices[0]!), ...omit(schema, "anyOf", "oneOf") } : schema;
}

/** Lists the scalar properties of an object, and its lists of scalars, in declaration order. */
export function listScalarFields(schema: JsonSchema): ScalarField[] {
  const object = skipNull(schema);
  const required = new Set((object.required as string[] | undefined) ?? []);
  return Object.entries((object.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, property]) => {
    const resolved = skipNull(property);
    const repeatable = resolved.type === "array";
    const item = repeatable ? skipNull((resolved.items ?? {}) as JsonSchema) : resolved;
    const type = findValueType(item);
    if (type === undefined) return [];
    const choices = type === "text" ? findChoices(item) : undefined;
    const placeholder = type === "text" ? getPlaceholder(item) : undefined;
    return [
      {
        name,
        type,
        repeatable,
        required: required.has(name),
        isBase64: item.contentEncoding === "base64",
        isFree: isFree(item) && (!repeatable || hasOnlyKeys(resolved, "type", "items")),
        description: String(resolved.description ?? item.description ?? ""),
        ...(choices ? { choices } : {}),
        ...(placeholder ? { placeholder } : {}),
        ...(isPlain(resolved.default) ? { default: resolved.default } : {}),
      },
    ];
  });
}

const formats = new Map([
  ["date-time", "TIME"],
  ["date", "DATE"],
  ["email", "EMAIL"],
  ["uri", "URL"],
]);

const getPlaceholder = ({ format, pattern }: JsonSchema): string | undefined =>
  pattern === durationPattern ? "DURATION" : formats.get(String(format));

/** Reports whether an object has rules that its scalar fields do not show: custom rules, or dependent fields. */
export function hasMoreRules(schema: z.ZodType): boolean {
  const { required = [] } = toInputSchema(schema) as { required?: string[] };
  const names = new Set(listScalarFields(toInputSchema(schema)).map(({ name }) => name));
  let found = required.some((name) => !names.has(name));
  schema.toJSONSchema({
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema }) => {
      found ||= zodSchema._zod.def.checks?.some(({ _zod }) => _zod.def.check === "custom") ?? false;
    },
  });
  return found;
}

/** Lists the names of a response's fields, or of a row's fields if the response is a list or has `rows`. */
export function listFieldNames(schema: JsonSchema, rows: string | undefined): string[] {
  const at = skipNull(rows === undefined ? schema : (getProperties(schema)[rows] ?? {}));
  return Object.keys(getProperties(at.type === "array" ? ((at.items ?? {}) as JsonSchema) : at));
}

function findValueType(schema: JsonSchema): ScalarField["type"] | undefined {
  if (schema.const === true) return "switch";
  const union = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (union) {
    const types = new Set(union.map(findValueType));
    return types.size === 1 ? [...types][0] : undefined;
  }
  if (schema.enum || "const" in schema) {
    const values = (schema.enum as unknown[] | undefined) ?? [schema.const];
    return values.every((value) => typeof value === "string") ? "text" : undefined;
  }
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
    case "boolean":
      return schema.type;
    default:
      return undefined;
  }
}

function isFree(schema: JsonSchema): boolean {
  // Zod generates these limits for any safe integer.
  if (schema.minimum === Number.MIN_SAFE_INTEGER && schema.maximum === Number.MAX_SAFE_INTEGER) {
    return isFree(omit(schema, "minimum", "maximum"));
  }
  return hasOnlyKeys(schema, "type", "enum", "const");
}

const hasOnlyKeys = (schema: JsonSchema, ...keys: string[]): boolean =>
  Object.keys(omit(schema, "description", "default", "examples", ...keys)).length === 0;

function findChoices(schema: JsonSchema): readonly string[] | undefined {
  if (schema.enum) return (schema.enum as unknown[]).filter((value) => value !== null).map(String);
  if ("const" in schema) return [String(schema.const)];
  const union = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  const each = union?.map(findChoices);
  return each?.every((choices) => choices !== undefined) ? each.flat() : undefined;
}

const isPlain = (value: unknown): value is string | number | boolean =>
  ["string", "number", "boolean"].includes(typeof value);

const omit = (schema: JsonSchema, ...keys: string[]): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));

/** Names that the services give to the total number of rows. */
const totalFieldNames = ["total_results", "total_count", "total"] as const;

/**
 * Derives the paging of an operation: a query field `limit` and a total next to the rows. Returns undefined if the
 * operation is not paged.
 */
export function derivePaging({ request, responses, cli }: Operation): Paging | undefined {
  const answer = responses[200];
  if (!request.query || answer?.kind !== "json" || !("command" in cli) || cli.rows === undefined) return undefined;
  const query = getProperties(toInputSchema(request.query));
  const answered = getProperties(toOutputSchema(answer.schema));
  const total = totalFieldNames.find((name) => Object.hasOwn(answered, name));
  if (!query.limit || total === undefined) return undefined;
  const by = (["page", "offset"] as const).find((name) => Object.hasOwn(query, name));
  return { ...(by === undefined ? {} : { by }), maxPerPage: Number(query.limit.maximum), rows: cli.rows, total };
}

const getProperties = (schema: JsonSchema): Record<string, JsonSchema> =>
  (skipNull(schema).properties ?? {}) as Record<string, JsonSchema>;
