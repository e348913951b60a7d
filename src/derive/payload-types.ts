import type * as z from "zod";
import { type JsonSchema, outputSchema } from "./fields.ts";
import { typeText } from "./type-text.ts";

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

/** Without what may come beside: it would let a program read a misspelt field. */
function declaredAlone({ additionalProperties, ...schema }: JsonSchema): JsonSchema {
  if (schema.properties === undefined) return { additionalProperties, ...schema };
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>);
  return { ...schema, properties: Object.fromEntries(properties.map(([name, one]) => [name, declaredAlone(one)])) };
}
