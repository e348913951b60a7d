import type { Operation } from "../api/operation.ts";
import type { Service } from "../api/services.ts";
import { operationObject, sharedParameters, tagOf } from "./openapi/operations.ts";
import { type Json, type SchemaNames, schemaWriter } from "./openapi/schemas.ts";
import { requirements, securitySchemes } from "./openapi/security.ts";
import { shapes } from "./openapi/shapes.ts";

/** The services that have a document; the signed storage has none (design.md, section 2). */
export const documentedServices = ["router", "contracts", "emulator"] as const;
export type DocumentedService = (typeof documentedServices)[number];

/** What the documents are made from: the registry's operations, and the names of its schemas. */
export interface Declarations {
  readonly registry: readonly Operation[];
  readonly schemaNames: SchemaNames;
}

/** The OpenAPI 3.1 document of one service. Takes the module `src/api/registry.ts` as it is. */
export function buildOpenApi(name: DocumentedService, { registry, schemaNames }: Declarations): Json {
  const operations = registry.filter(({ service }) => service.name === name);
  const [first] = operations;
  if (!first) throw new Error(`The registry holds no operation of ${name}`);

  const writer = schemaWriter(schemaNames);
  const paths: Record<string, Record<string, Json>> = Object.create(null);
  for (const operation of operations) {
    for (const method of [operation.method].flat()) {
      const item = { [method.toLowerCase()]: operationObject(operation, method, writer) };
      paths[operation.path] = { ...paths[operation.path], ...item };
    }
  }
  const schemes = new Set<string>(operations.flatMap(({ auth }) => requirements[auth].flat()));
  const failureForms = Object.fromEntries(Object.values(shapes).map(({ name, schema }) => [name, schema]));
  const used = JSON.stringify(paths);
  return {
    openapi: "3.1.0",
    info: infoOf(first.service),
    servers: [{ url: servers[name], description: "An emulator started with its defaults" }],
    tags: [...new Set(operations.map(tagOf))].map((tag) => ({ name: tag })),
    paths,
    components: {
      schemas: { ...writer.components(), ...pick(failureForms, (name) => used.includes(`/schemas/${name}"`)) },
      parameters: pick(sharedParameters, (name) => used.includes(`/parameters/${name}"`)),
      securitySchemes: pick(securitySchemes, (name) => schemes.has(name)),
    },
  };
}

/** Components that nothing refers to would only puzzle a reader. */
const pick = (parts: Json, wanted: (name: string) => boolean): Json =>
  Object.fromEntries(Object.entries(parts).filter(([name]) => wanted(name)));

const servers: Readonly<Record<DocumentedService, string>> = {
  router: "http://127.0.0.1:4010",
  contracts: "http://127.0.0.1:4011",
  emulator: "http://127.0.0.1:4010",
};

const infoOf = ({ title, version }: Service): Json => ({
  title,
  version,
  description:
    "Derived from the declarations that the emulator, the client and the commands are derived from. `x-basis` says how each operation and failure is known: specified, public or assumed.",
  license: { name: "MIT", identifier: "MIT" },
});
