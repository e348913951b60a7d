import type * as z from "zod";
import type { Operation, RequestBody, ResponseBody } from "../api/operation.ts";
import { inputSchema, outputSchema } from "./fields.ts";
import { typeText } from "./type-text.ts";

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

/** What an operation does not take is named, too: a type without names takes anything. */
const part = (name: string, type: string | undefined, mayBeLeftOut = false): string =>
  type === undefined ? `readonly ${name}?: undefined;` : `readonly ${name}${mayBeLeftOut ? "?" : ""}: ${type};`;

/** A query whose every field may be left out may be left out itself. */
const leftOut = (schema: z.ZodType | undefined): boolean => schema?.safeParse({}).success ?? false;

/** Where a query takes more than its fields, those are filters with an operator: `filter__created_at[$gt]`. */
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
