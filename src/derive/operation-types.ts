import type * as z from "zod";
import type { Operation, RequestBody, ResponseBody } from "../api/operation.ts";
import { inputSchema, outputSchema } from "./fields.ts";
import { typeText } from "./type-text.ts";

/** Arguments and result of every operation as TypeScript declarations, for programs that use the package. */
export const operationTypes = (operations: readonly Operation[]): string =>
  [
    "/** What each operation takes and gives, by its id. Written by `npm run build` from the declarations. */",
    "export interface Operations {",
    ...operations.map(entryText),
    "}",
    "",
  ].join("\n");

function entryText(operation: Operation): string {
  const { id, summary, method, path, request, responses } = operation;
  const args = [
    part("params", request.params),
    part("query", request.query, leftOut(request.query)),
    part("headers", request.headers, leftOut(request.headers)),
    bodyPart(request.body),
  ].filter((text) => text !== undefined);
  const results = [...new Set(Object.values(responses).map(resultText))];
  return [
    `  /** ${summary}: \`${[method].flat().join("|")} ${path}\` */`,
    `  ${JSON.stringify(id)}: {`,
    `    args: {${args.length === 0 ? "" : `\n${args.map((text) => `      ${indented(text, 3)}`).join("\n")}\n    `}};`,
    `    result: ${indented(results.join(" | "), 2)};`,
    "  };",
  ].join("\n");
}

const part = (name: string, schema: z.ZodType | undefined, mayBeLeftOut = false): string | undefined =>
  schema && `readonly ${name}${mayBeLeftOut ? "?" : ""}: ${typeText(inputSchema(schema))};`;

/** A query whose every field may be left out may be left out itself. */
const leftOut = (schema: z.ZodType | undefined): boolean => schema?.safeParse({}).success ?? false;

function bodyPart(body: RequestBody | undefined): string | undefined {
  if (body === undefined) return undefined;
  if (!("schema" in body)) return "readonly body: Uint8Array | AsyncIterable<Uint8Array>;";
  return part("body", body.schema, body.schema.safeParse(undefined).success);
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
