import type * as z from "zod";
import type { Operation, RequestBody, ResponseBody } from "../api/operation.ts";
import { inputSchema, type JsonSchema, outputSchema, resolveSchema } from "./fields.ts";

/** Arguments and result of every operation as TypeScript declarations, for programs that use the package. */
export const operationTypes = (operations: readonly Operation[]): string =>
  [
    "/** Input and output of each operation, by its ID. Written by `npm run build` from the declarations. */",
    "export interface Operations {",
    ...operations.map(entryText),
    "}",
    "",
  ].join("\n");

function entryText(operation: Operation): string {
  const { id, summary, method, path, request, responses, service } = operation;
  // A signed URL, which is an option of the call, holds them.
  const { params, query } = service.name === "storage" ? {} : request;
  const args = [
    part("params", params && typeText(inputSchema(params))),
    part("query", query && queryText(query), leftOut(query)),
    part("headers", request.headers && typeText(inputSchema(request.headers)), leftOut(request.headers)),
    bodyPart(request.body),
  ];
  const results = [...new Set(Object.values(responses).map(resultText))];
  return [
    `  /** ${summary}: \`${[method].flat().join("|")} ${path}\` */`,
    `  ${JSON.stringify(id)}: {`,
    "    args: {",
    ...args.map((text) => `      ${indented(text, 3)}`),
    "    };",
    `    result: ${indented(results.join(" | "), 2)};`,
    "  };",
  ].join("\n");
}

/** Unused parts are named, too: a type without names accepts anything. */
const part = (name: string, type: string | undefined, mayBeLeftOut = false): string =>
  type === undefined ? `readonly ${name}?: undefined;` : `readonly ${name}${mayBeLeftOut ? "?" : ""}: ${type};`;

/** A query whose every field may be omitted may be omitted itself. */
const leftOut = (schema: z.ZodType | undefined): boolean => schema?.safeParse({}).success ?? false;

/** If a query accepts more than its fields, those are filters with an operator: `filter__created_at[$gt]`. */
function queryText(query: z.ZodObject): string {
  const { additionalProperties, ...closed } = inputSchema(query);
  const filters = Object.keys(query.shape).filter((name) => name.startsWith("filter__"));
  if (additionalProperties === undefined || filters.length === 0) return typeText({ ...closed, additionalProperties });
  const names = filters.map((name) => JSON.stringify(name)).join(" | ");
  const operators = `  readonly [filter: \`\${${names}}[$\${string}]\`]: string | number | undefined;`;
  return typeText(closed).replace(/}$/, () => `${operators}\n}`);
}

function bodyPart(body: RequestBody | undefined): string {
  if (body === undefined) return part("body", undefined);
  if (!("schema" in body)) return part("body", "Uint8Array | AsyncIterable<Uint8Array>");
  return part("body", typeText(inputSchema(body.schema)), body.schema.safeParse(undefined).success);
}

function resultText(response: ResponseBody): string {
  switch (response.kind) {
    case "json":
      return typeText(outputSchema(response.schema));
    case "events":
      return `AsyncIterable<${typeText(outputSchema(response.schema))}>`;
    case "html":
    case "redirect":
      return "string";
    case "bytes":
      return "Uint8Array | AsyncIterable<Uint8Array>";
    case "passthrough":
      return "unknown";
    case "empty":
      return "undefined";
  }
}

const indented = (text: string, levels: number): string => text.replaceAll("\n", `\n${"  ".repeat(levels)}`);

/** The bodies that receivers get, by their activities, as TypeScript declarations for programs that use the package. */
export const payloadTypes = (payloads: ReadonlyMap<string, z.ZodType>): string =>
  [
    "/** Webhook payload of each activity. Written by `npm run build` from the declarations. */",
    "export interface WebhookPayloads {",
    ...[...payloads].map(([activity, payload]) => {
      const type = typeText(declaredAlone(outputSchema(payload)));
      return `  ${JSON.stringify(activity)}: ${type.replaceAll("\n", "\n  ")};`;
    }),
    "}",
    "",
  ].join("\n");

/** Without what may come next to: it would let a program read a misspelt field. */
function declaredAlone({ additionalProperties, ...schema }: JsonSchema): JsonSchema {
  if (schema.properties === undefined) return { additionalProperties, ...schema };
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>);
  return { ...schema, properties: Object.fromEntries(properties.map(([name, one]) => [name, declaredAlone(one)])) };
}

/**
 * A JSON Schema as the text of a TypeScript type, for published declarations that need no schema library. By hand:
 * generators write whole files, but one type has to be among others.
 */
const typeText = (schema: JsonSchema): string => written(schema, { root: schema, depth: 0, open: [] });

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

/** Alternatives with a shape; the others only require fields together, which our types do not express. */
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
