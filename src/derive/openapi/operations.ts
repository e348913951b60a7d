import type * as z from "zod";
import type { Basis } from "../../api/basis.ts";
import type { Failure } from "../../api/failure.ts";
import { failureCatalogue as catalogue, type FailureCode } from "../../api/failures.ts";
import {
  type Auth,
  type Example,
  getRequiredRole,
  isOAuthRequest,
  type Method,
  type Operation,
} from "../../api/operation.ts";
import { groupBy } from "../../base/object.ts";
import { capitalize, slugify } from "../../base/text.ts";
import {
  buildSignaturePattern,
  formatAlgorithm,
  getDefaultScheme,
  getEncodingName,
  getSignatureHeader,
} from "../../schemes/webhook-schemes.ts";
import { buildRequestBody } from "./bodies.ts";
import { failureShapes, type Json, type SchemaWriter } from "./schemas.ts";

/** Builds the OpenAPI object of an operation for one of its methods. */
export function buildOperationObject(
  operation: Operation,
  method: Method,
  successes: Json,
  writer: SchemaWriter,
): Json {
  const { id, summary, description, auth, emits, cli, basis } = operation;
  const role = getRequiredRole(operation);
  const body = buildRequestBody(operation, writer);
  return {
    // The catch-all has five methods, and an operationId must be unique.
    operationId: [operation.method].flat().length > 1 ? `${id}.${method.toLowerCase()}` : id,
    tags: [getTag(operation)],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityRequirements[auth].map((schemes) => Object.fromEntries(schemes.map((scheme) => [scheme, []]))),
    parameters: buildParameters(operation, writer),
    ...(body && method !== "GET" ? { requestBody: body } : {}),
    responses: { ...successes, ...buildFailureResponses(operation, writer) },
    ...(role === undefined ? {} : { "x-role": role }),
    "x-command": `svc ${"by" in cli ? cli.by : cli.command}`,
    ...(emits?.length ? { "x-emits": emits } : {}),
    ...toBasisExtension(basis),
  };
}

export const getTag = ({ id }: Operation): string => id.split(".")[0]!;

function buildParameters({ request, examples, auth }: Operation, writer: SchemaWriter): Json[] {
  return [
    ...buildPartParameters("path", request.params, examples, writer),
    ...buildPartParameters("query", request.query, examples, writer),
    ...buildPartParameters("header", request.headers, examples, writer),
    ...(auth === "api-key" ? [{ $ref: "#/components/parameters/UserEmail" }] : []),
  ];
}

const defaultScheme = getDefaultScheme();

/** Parameters that belong to a kind of credentials or to all deliveries instead of an operation. */
export const sharedParameters: Json = {
  ContentHash: {
    name: getSignatureHeader(defaultScheme),
    in: "header",
    required: true,
    description: `${capitalize(getEncodingName(defaultScheme.format))} ${formatAlgorithm(defaultScheme.format)} of the body's bytes with the decoded key of the workspace`,
    schema: { type: "string", pattern: buildSignaturePattern(defaultScheme.format) },
  },
  UserEmail: {
    name: "user-email",
    in: "header",
    description: "Acts as this active member of the workspace",
    // Generators for Go would confuse the header with a query parameter `user_email`.
    "x-go-name": "ActingUserEmail",
    schema: { type: "string", format: "email" },
    // Without an example, importers send placeholders that are not addresses of users. This address is in the seed
    // `demo`.
    example: "ada@northwind.example",
  },
};

const exampleKeys = { path: "params", query: "query", header: "headers" } as const;

function buildPartParameters(
  where: keyof typeof exampleKeys,
  shape: z.ZodObject | undefined,
  examples: readonly Example[],
  writer: SchemaWriter,
): Json[] {
  if (!shape) return [];
  const { properties, required } = writer.writeFields(shape);
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    const namedExamples = examples.flatMap((example) => {
      const value = example[exampleKeys[where]]?.[name];
      return value === undefined ? [] : [[slugify(example.title), { summary: example.title, value }] as const];
    });
    return {
      name,
      in: where,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema,
      ...(namedExamples.length > 0 ? { examples: Object.fromEntries(namedExamples) } : {}),
    };
  });
}

/**
 * Returns the failures that an operation can return: its own, its cluster's, and the applicable failures of its
 * service.
 */
export const collectFailures = (operation: Operation): FailureCode[] => [
  ...new Set([
    ...operation.failures,
    ...(operation.clusterFailures ?? []),
    ...operation.service.failures.filter((code) => isApplicableFailure(catalogue[code], operation)),
  ]),
];

/** Reports whether a failure applies to an operation. A service declares its failures for all operations. */
function isApplicableFailure({ status }: Failure<unknown>, { auth, request }: Operation): boolean {
  if (status === 401 || status === 403) return auth !== "none";
  if (status === 405) return false;
  if (status === 413 || status === 415) return request.body !== undefined;
  if ((status === 400 || status === 422) && isOAuthRequest(request.body)) return false;
  if (status === 400 || status === 422) return Object.values(request).some((part) => part !== undefined);
  return true;
}

/** Builds one response per status, as OpenAPI requires. Failures with the same status have different examples. */
function buildFailureResponses(operation: Operation, writer: SchemaWriter): Record<string, Json> {
  const byStatus = groupBy(collectFailures(operation), (code) => catalogue[code].status);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, buildFailureResponse(codes, writer)]));
}

const failureForms = Object.keys(failureShapes) as (keyof typeof failureShapes)[];

function buildFailureResponse(codes: readonly FailureCode[], writer: SchemaWriter): Json {
  const forms = failureForms.filter((form) => codes.some((code) => catalogue[code].shape === form));
  const formsByType = groupBy(forms, (form) => failureShapes[form].mediaType);
  const headersByCode = codes.map((code) => Object.keys(catalogue[code].headers?.(sampleData) ?? {}));
  const headers = [...new Set(headersByCode.flat())].map((name) => {
    const required = headersByCode.every((names) => names.includes(name));
    return [name, { required, schema: { type: "string" } }] as const;
  });
  return {
    description: codes.map((code) => `${code}: ${catalogue[code].when}.`).join("\n"),
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}),
    content: Object.fromEntries(
      [...formsByType].map(([mediaType, ofType]) => {
        const matchingCodes = codes.filter((code) => ofType.includes(catalogue[code].shape));
        return [
          mediaType,
          {
            schema: writer.writeForms(ofType.map((form) => failureShapes[form])),
            examples: Object.fromEntries(
              matchingCodes.map((code) => [
                code,
                { summary: catalogue[code].when, value: buildSample(catalogue[code]) },
              ]),
            ),
          },
        ];
      }),
    ),
    "x-failures": codes.map((code) => ({
      code,
      when: catalogue[code].when,
      ...toBasisExtension(catalogue[code].basis),
    })),
  };
}

/** Data of a failure with `<name>` for each value. */
const sampleData = new Proxy({}, { get: (_, name) => (typeof name === "string" ? `<${name}>` : undefined) });

/** Builds a sample body of the failure, with `<name>` for data in the message. */
export function buildSample(failure: Failure<unknown>): unknown {
  try {
    const body = failure.body(sampleData);
    // Bodies that are passed as a whole, such as validation errors, have no template.
    const known = JSON.stringify(body);
    return known === undefined || known === "{}" || known.includes("{}") ? failureShapes[failure.shape].sample : body;
  } catch {
    return failureShapes[failure.shape].sample;
  }
}

const createHeaderScheme = (name: string, description: string): Json => ({
  type: "apiKey",
  in: "header",
  name,
  description,
});

export const securitySchemes = {
  clientId: createHeaderScheme("client-id", "The ID of the workspace's API key"),
  clientSecret: createHeaderScheme("client-secret", "The secret of the workspace's API key"),
  clusterKey: createHeaderScheme("x-cluster-key", "The key of the cluster of the request"),
  clusterKeyAsBearer: { type: "http", scheme: "bearer", description: "The key of the cluster as a bearer token" },
  basic: { type: "http", scheme: "basic", description: "The credentials of the billing provider" },
  accessToken: { type: "http", scheme: "bearer", description: "An OAuth access token" },
  controlToken: {
    type: "http",
    scheme: "bearer",
    description: "The token in the emulator's run file, or a created token",
  },
} satisfies Record<string, Json>;

type Scheme = keyof typeof securitySchemes;

/**
 * Requirements of each kind of credentials. A request must satisfy one row, with everything in that row. An empty row
 * means that the credentials are optional, as the specification states for the cluster key and for userinfo's header
 * (DECISIONS.md, R6).
 */
export const securityRequirements: Readonly<Record<Auth, readonly (readonly Scheme[])[]>> = {
  none: [],
  "api-key": [["clientId", "clientSecret"]],
  "cluster-key": [["clusterKey"], []],
  "cluster-key-or-bearer": [["clusterKey"], ["clusterKeyAsBearer"], []],
  basic: [["basic"]],
  bearer: [["accessToken"], []],
  "control-token": [["controlToken"]],
};

const toBasisExtension = (basis: Basis): Json =>
  typeof basis === "string" ? { "x-basis": basis } : { "x-basis": "assumed", "x-basis-reason": basis.assumed };
