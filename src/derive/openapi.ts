import type * as z from "zod";
import type { Activity } from "../api/activities.ts";
import type { Operation } from "../api/operation.ts";
import { isObject } from "../base/object.ts";
import { buildSuccessResponses, buildWebhookItems } from "./openapi/bodies.ts";
import {
  buildOperationObject,
  getTag,
  securityRequirements,
  securitySchemes,
  sharedParameters,
} from "./openapi/operations.ts";
import { createSchemaWriter, type Json, type SchemaNames } from "./openapi/schemas.ts";

/** Services with an OpenAPI document. The signed storage has none (DECISIONS.md, E9). */
export const documentedServices = ["router", "contracts", "emulator"] as const;
export type DocumentedService = (typeof documentedServices)[number];

/** Sources of the documents: the operations of the registry, and the names of its schemas. */
interface OpenApiSource {
  readonly registry: readonly Operation[];
  readonly schemaNames: SchemaNames;
  readonly webhookPayloads?: ReadonlyMap<Activity, z.ZodType>;
}

export interface Server {
  readonly url: string;
  readonly description: string;
}

/**
 * Builds the OpenAPI 3.1 document of one service. `source` is the module `src/api/registry.ts`. By default, the
 * document lists the default address of an emulator.
 */
export function buildOpenApi(
  name: DocumentedService,
  { registry, schemaNames, webhookPayloads }: OpenApiSource,
  servers: readonly Server[] = [createDefaultServer(name)],
): Json {
  const operations = registry.filter(({ service }) => service.name === name);
  const [first] = operations;
  if (!first) throw new Error(`The registry has no operation of ${name}`);

  const payloads = name === "contracts" ? webhookPayloads : undefined;
  const payloadNames = [...(payloads ?? [])].map(([activity, schema]) => [schema, namePayload(activity)] as const);
  const writer = createSchemaWriter(new Map([...schemaNames, ...payloadNames]));
  const paths: Record<string, Record<string, Json>> = Object.create(null);
  const webhooks = payloads && buildWebhookItems(payloads, writer);
  const successes = operations.map((operation) => buildSuccessResponses(operation, writer));
  for (const [index, operation] of operations.entries()) {
    for (const method of [operation.method].flat()) {
      const item = { [method.toLowerCase()]: buildOperationObject(operation, method, successes[index]!, writer) };
      paths[operation.path] = { ...paths[operation.path], ...item };
    }
  }
  const schemes = new Set<string>(operations.flatMap(({ auth }) => securityRequirements[auth].flat()));
  const used = JSON.stringify({ paths, webhooks });
  return {
    openapi: "3.1.0",
    info: {
      title: first.service.title,
      version: first.service.version,
      description:
        "Derived from the same declarations as the emulator, the client and the commands. `x-basis` is the source of each operation and failure: specified, public or assumed.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers,
    tags: [...new Set(operations.map(getTag))].map((tag) => ({ name: tag })),
    paths,
    ...(webhooks ? { webhooks } : {}),
    components: {
      schemas: writer.getComponents(),
      parameters: pick(sharedParameters, (name) => used.includes(`/parameters/${name}"`)),
      securitySchemes: pick(securitySchemes, (name) => schemes.has(name)),
    },
  };
}

/** Names the payload of an activity, because many generators make types only of components: `ContractSignedPayload`. */
const namePayload = (activity: Activity): string =>
  `${activity.toLowerCase().replace(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase())}Payload`;

/** Unreferenced components would only confuse readers. */
const pick = (parts: Json, isWanted: (name: string) => boolean): Json =>
  Object.fromEntries(Object.entries(parts).filter(([name]) => isWanted(name)));

const createDefaultServer = (name: DocumentedService): Server => ({
  url: `http://127.0.0.1:${name === "contracts" ? 4011 : 4010}`,
  description: "An emulator started with its defaults",
});

export interface ObservedClaim {
  readonly count: number;
  readonly at: string;
  readonly differs: readonly string[];
}

/** Observations by claim: `contracts.create`, `contracts.send no-signatories`, `webhook CONTRACT_CREATED`. */
export type ObservedClaims = Readonly<Record<string, ObservedClaim>>;

/** Combines the observations of a failure over all operations that return it. */
export function findObservedFailure(claims: ObservedClaims, code: string): ObservedClaim | undefined {
  const found = Object.entries(claims).flatMap(([claim, seen]) => (claim.endsWith(` ${code}`) ? [seen] : []));
  if (found.length === 0) return undefined;
  return {
    count: found.reduce((sum, { count }) => sum + count, 0),
    at: found
      .map((one) => one.at)
      .sort()
      .at(-1)!,
    differs: found.flatMap(({ differs }) => differs),
  };
}

/** Returns the claim of an operation. For `webhook.contract-created` it is `webhook CONTRACT_CREATED`. */
const toClaim = (operationId: string): string =>
  operationId.replace(/^webhook\.(.+)/, (_, name: string) => `webhook ${name.replaceAll("-", "_").toUpperCase()}`);

/**
 * Adds the observations of each operation, failure and webhook to an OpenAPI document: `x-basis: observed`, the number
 * of observations, and the last time.
 */
export function addObservations<T extends object>(document: T, claims: ObservedClaims): T {
  const mark = (claim: string): Readonly<Record<string, unknown>> => {
    if (!Object.hasOwn(claims, claim)) return {};
    const { count, at, differs } = claims[claim]!;
    return { "x-basis": "observed", "x-observed": { times: count, last: at, ...(differs.length > 0 && { differs }) } };
  };
  const walk = (node: unknown, operation: string): unknown => {
    if (Array.isArray(node)) return node.map((one) => walk(one, operation));
    if (!isObject(node)) return node;
    const id = typeof node.operationId === "string" ? toClaim(node.operationId) : undefined;
    const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, walk(value, id ?? operation)]));
    if (id !== undefined) return { ...inner, ...mark(id) };
    if (typeof node.code === "string" && typeof node.when === "string")
      return { ...inner, ...mark(`${operation} ${node.code}`) };
    return inner;
  };
  return walk(document, "") as T;
}
