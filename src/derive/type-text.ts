import { type JsonSchema, resolveSchema } from "./fields.ts";

/**
 * A JSON Schema as the text of a TypeScript type, for published declarations that need no schema library. By hand:
 * generators write whole files, where one type has to stand among others.
 */
export const typeText = (schema: JsonSchema): string => written(schema, { root: schema, depth: 0, open: [] });

interface Cursor {
  readonly root: JsonSchema;
  readonly depth: number;
  /** References that are being written: one that holds itself ends as unknown. */
  readonly open: readonly string[];
}

function written(schema: JsonSchema, at: Cursor): string {
  if (typeof schema.$ref === "string") {
    if (at.open.includes(schema.$ref)) return "unknown";
    const inner = resolveSchema({ $ref: schema.$ref }, at.root);
    return written(inner, { ...at, open: [...at.open, schema.$ref] });
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choices = shapesIn(schema.anyOf ?? schema.oneOf);
  if (choices.length > 0) return union(choices.map((choice) => written(choice, at)));
  const parts = shapesIn(schema.allOf);
  if (parts.length > 0) return parts.map((part) => `(${written(part, at)})`).join(" & ");
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => written({ ...schema, type }, at)));
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return Array.isArray(schema.prefixItems)
        ? `readonly [${(schema.prefixItems as JsonSchema[]).map((item) => written(item, at)).join(", ")}]`
        : listText(written((schema.items || {}) as JsonSchema, at));
    case "object":
      return objectText(schema, at);
    default:
      return "unknown";
  }
}

/** Those of a list that have a shape; the others only say which fields go together, which no type of ours says. */
const shapesIn = (list: unknown): readonly JsonSchema[] => (Array.isArray(list) ? list.filter(hasShape) : []);

const hasShape = (schema: JsonSchema): boolean =>
  ["$ref", "type", "const", "enum", "properties"].some((key) => Object.hasOwn(schema, key)) ||
  [schema.anyOf, schema.oneOf, schema.allOf].some((list) => shapesIn(list).length > 0);

function objectText(schema: JsonSchema, at: Cursor): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const rest = schema.additionalProperties;
  const others = typeof rest === "object" && rest !== null ? (rest as JsonSchema) : undefined;
  if (properties.length === 0) {
    return `{ readonly [name: string]: ${others && Object.keys(others).length > 0 ? written(others, at) : "unknown"} }`;
  }
  const required = new Set((schema.required as readonly string[] | undefined) ?? []);
  const inner = { ...at, depth: at.depth + 1 };
  const indent = "  ".repeat(inner.depth);
  const lines = properties.flatMap(([name, property]) => [
    ...(typeof property.description === "string" ? [`${indent}/** ${commentText(property.description)} */`] : []),
    `${indent}readonly ${nameText(name)}${required.has(name) ? "" : "?"}: ${written(property, inner)};`,
  ]);
  if (others && Object.keys(others).length === 0) lines.push(`${indent}readonly [name: string]: unknown;`);
  return `{\n${lines.join("\n")}\n${"  ".repeat(at.depth)}}`;
}

const union = (types: readonly string[]): string => [...new Set(types)].join(" | ");
const listText = (item: string): string => (/^\w+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`);
const nameText = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
const commentText = (text: string): string => text.replaceAll("*/", "*\\/").replace(/\s+/g, " ");
