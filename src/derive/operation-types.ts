import type * as z from "zod";
import type { Operation, RequestBody, ResponseBody } from "../api/operation.ts";
import { type JsonSchema, toInputSchema, toOutputSchema } from "./fields.ts";

/** Renders the arguments and the result of every operation as TypeScript declarations for programs. */
export const renderOperationTypes = (operations: readonly Operation[]): string =>
  [
    "/** Input and output of each operation, by its ID. Written by `npm run build` from the declarations. */",
    "export interface Operations {",
    ...operations.map(renderEntry),
    "}",
    "",
  ].join("\n");

function renderEntry(operation: Operation): string {
  const { id, summary, method, path, request, responses, service } = operation;
  // The signed URL, which is an option of the call, contains the parameters.
  const { params, query } = service.name === "storage" ? {} : request;
  const args = [
    renderPart("params", params && renderType(toInputSchema(params))),
    renderPart("query", query && renderQuery(query), isOptional(query)),
    renderPart("headers", request.headers && renderType(toInputSchema(request.headers)), isOptional(request.headers)),
    renderBodyPart(request.body),
  ];
  const results = [...new Set(Object.values(responses).map(renderResult))];
  return [
    `  /** ${summary}: \`${[method].flat().join("|")} ${path}\` */`,
    `  ${JSON.stringify(id)}: {`,
    "    args: {",
    ...args.map((text) => `      ${indent(text, 3)}`),
    "    };",
    `    result: ${indent(results.join(" | "), 2)};`,
    "  };",
  ].join("\n");
}

/** Unused parts are also declared, because a type without fields accepts anything. */
const renderPart = (name: string, type: string | undefined, mayBeLeftOut = false): string =>
  type === undefined ? `readonly ${name}?: undefined;` : `readonly ${name}${mayBeLeftOut ? "?" : ""}: ${type};`;

const isOptional = (schema: z.ZodType | undefined): boolean => schema?.safeParse({}).success ?? false;

/**
 * Renders the type of a query. A query that accepts more than its fields has filters with an operator:
 * `filter__created_at[$gt]`.
 */
function renderQuery(query: z.ZodObject): string {
  const { additionalProperties, ...closed } = toInputSchema(query);
  const filters = Object.keys(query.shape).filter((name) => name.startsWith("filter__"));
  if (additionalProperties === undefined || filters.length === 0)
    return renderType({ ...closed, additionalProperties });
  const names = filters.map((name) => JSON.stringify(name)).join(" | ");
  const operators = `  readonly [filter: \`\${${names}}[$\${string}]\`]: string | number | undefined;`;
  return renderType(closed).replace(/}$/, () => `${operators}\n}`);
}

function renderBodyPart(body: RequestBody | undefined): string {
  if (body === undefined) return renderPart("body", undefined);
  if (!("schema" in body)) return renderPart("body", "Uint8Array | AsyncIterable<Uint8Array>");
  return renderPart("body", renderType(toInputSchema(body.schema)), body.schema.safeParse(undefined).success);
}

function renderResult(response: ResponseBody): string {
  switch (response.kind) {
    case "json":
      return renderType(toOutputSchema(response.schema));
    case "events":
      return `AsyncIterable<${renderType(toOutputSchema(response.schema))}>`;
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

const indent = (text: string, levels: number): string => text.replaceAll("\n", `\n${"  ".repeat(levels)}`);

/** Renders the bodies of webhooks by activity as TypeScript declarations for programs. */
export const renderPayloadTypes = (payloads: ReadonlyMap<string, z.ZodType>): string =>
  [
    "/** Webhook payload of each activity. Written by `npm run build` from the declarations. */",
    "export interface WebhookPayloads {",
    ...[...payloads].map(([activity, payload]) => {
      const type = renderType(toStandaloneSchema(toOutputSchema(payload)));
      return `  ${JSON.stringify(activity)}: ${type.replaceAll("\n", "\n  ")};`;
    }),
    "}",
    "",
  ].join("\n");

/** Removes the index signature, with which a misspelled field would compile. */
function toStandaloneSchema({ additionalProperties, ...schema }: JsonSchema): JsonSchema {
  if (schema.properties === undefined) return { additionalProperties, ...schema };
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>);
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(([name, one]) => [name, toStandaloneSchema(one)])),
  };
}

/**
 * Renders a JSON Schema as a TypeScript type, for published declarations without a schema library. Generators write
 * whole files, but these types are embedded in one file (ARCHITECTURE.md, Written by hand).
 */
const renderType = (schema: JsonSchema): string => renderSchema(schema, 0);

function renderSchema(schema: JsonSchema, depth: number): string {
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return renderUnion(schema.enum.map((value) => JSON.stringify(value)));
  const choices = listShapes(schema.anyOf ?? schema.oneOf);
  if (choices.length > 0) return renderUnion(choices.map((choice) => renderSchema(choice, depth)));
  const parts = listShapes(schema.allOf);
  if (parts.length > 0) return parts.map((part) => `(${renderSchema(part, depth)})`).join(" & ");
  if (Array.isArray(schema.type))
    return renderUnion(schema.type.map((type) => renderSchema({ ...schema, type }, depth)));
  switch (schema.type) {
    case "string":
    case "number":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
      return "number";
    case "array":
      return Array.isArray(schema.prefixItems)
        ? `readonly [${(schema.prefixItems as JsonSchema[]).map((item) => renderSchema(item, depth)).join(", ")}]`
        : renderList(renderSchema((schema.items || {}) as JsonSchema, depth));
    case "object":
      return renderObject(schema, depth);
    default:
      return "unknown";
  }
}

/**
 * Lists the alternatives with a shape. Other alternatives only require combinations of fields, which the types do not
 * express.
 */
const listShapes = (list: unknown): readonly JsonSchema[] => (Array.isArray(list) ? list.filter(hasShape) : []);

const hasShape = (schema: JsonSchema): boolean =>
  ["type", "const", "enum", "properties"].some((key) => Object.hasOwn(schema, key)) ||
  [schema.anyOf, schema.oneOf, schema.allOf].some((list) => listShapes(list).length > 0);

function renderObject(schema: JsonSchema, depth: number): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const rest = schema.additionalProperties;
  const others = typeof rest === "object" && rest !== null ? (rest as JsonSchema) : undefined;
  if (properties.length === 0) {
    return `{ readonly [name: string]: ${others && Object.keys(others).length > 0 ? renderSchema(others, depth) : "unknown"} }`;
  }
  const required = new Set((schema.required as readonly string[] | undefined) ?? []);
  const indent = "  ".repeat(depth + 1);
  const lines = properties.flatMap(([name, property]) => [
    ...(typeof property.description === "string" ? [`${indent}/** ${escapeComment(property.description)} */`] : []),
    `${indent}readonly ${quoteName(name)}${required.has(name) ? "" : "?"}: ${renderSchema(property, depth + 1)};`,
  ]);
  if (others && Object.keys(others).length === 0) lines.push(`${indent}readonly [name: string]: unknown;`);
  return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
}

const renderUnion = (types: readonly string[]): string => [...new Set(types)].join(" | ");
const renderList = (item: string): string => (/^\w+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`);
const quoteName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
const escapeComment = (text: string): string => text.replaceAll("*/", "*\\/").replace(/\s+/g, " ");
