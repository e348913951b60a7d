import type * as z from "zod";
import { type Example, type Method, type Operation, roleOf } from "../../api/operation.ts";
import { basisOf } from "./basis.ts";
import { requestBody, slug, successResponses } from "./bodies.ts";
import { failureResponses } from "./failures.ts";
import type { Json, SchemaWriter } from "./schemas.ts";
import { securityRequirements } from "./security.ts";

/** One operation as OpenAPI describes it, under one of its methods. */
export function operationObject(operation: Operation, method: Method, writer: SchemaWriter): Json {
  const { id, summary, description, auth, emits, cli, basis } = operation;
  const role = roleOf(operation);
  const body = requestBody(operation, writer);
  return {
    // The catch-all has five methods, and an operationId must be unique.
    operationId: [operation.method].flat().length > 1 ? `${id}.${method.toLowerCase()}` : id,
    tags: [tagOf(operation)],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityRequirements[auth].map((schemes) => Object.fromEntries(schemes.map((scheme) => [scheme, []]))),
    parameters: parametersOf(operation, writer),
    ...(body && method !== "GET" ? { requestBody: body } : {}),
    responses: {
      ...successResponses(operation, writer),
      ...failureResponses(operation),
    },
    ...(role === undefined ? {} : { "x-role": role }),
    "x-command": `svc ${"by" in cli ? cli.by : cli.command}`,
    ...(emits?.length ? { "x-emits": emits } : {}),
    ...basisOf(basis),
  };
}

/** The resource, which is the first part of an operation's id. */
export const tagOf = ({ id }: Operation): string => id.split(".")[0]!;

function parametersOf({ request, examples, auth }: Operation, writer: SchemaWriter): Json[] {
  return [
    ...partParameters("path", request.params, examples, writer),
    ...partParameters("query", request.query, examples, writer),
    ...partParameters("header", request.headers, examples, writer),
    ...(auth === "api-key" ? [{ $ref: "#/components/parameters/UserEmail" }] : []),
  ];
}

/** Parameters that are declared for a kind of credentials or for all deliveries, not for an operation. */
export const sharedParameters: Json = {
  ContentHash: {
    name: "X-SVC-WEBHOOK-CONTENT-HASH",
    in: "header",
    required: true,
    description: "Lower-case hex HMAC-SHA512 of the body's bytes with the decoded key of the workspace",
    schema: { type: "string", pattern: "^[0-9a-f]{128}$" },
  },
  UserEmail: {
    name: "user-email",
    in: "header",
    description: "Acts as this active member of the workspace",
    // Beside a query parameter `user_email` both would be one name to generators of Go.
    "x-go-name": "ActingUserEmail",
    schema: { type: "string", format: "email" },
    // Importers that find none send words of their own, which are nobody's address; she is in the seed `demo`.
    example: "ada@northwind.example",
  },
};

const exampleKeys = { path: "params", query: "query", header: "headers" } as const;

function partParameters(
  where: keyof typeof exampleKeys,
  shape: z.ZodObject | undefined,
  examples: readonly Example[],
  writer: SchemaWriter,
): Json[] {
  if (!shape) return [];
  const { properties, required } = writer.fields(shape);
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    const given = examples.flatMap((example) => {
      const value = example[exampleKeys[where]]?.[name];
      return value === undefined ? [] : [[slug(example.title), { summary: example.title, value }] as const];
    });
    return {
      name,
      in: where,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema,
      ...(given.length > 0 ? { examples: Object.fromEntries(given) } : {}),
    };
  });
}
