import type * as z from "zod";
import { findNearest, trimTrailing } from "../base/text.ts";
import * as modules from "./all-resources.ts";
import * as contractShapes from "./contracts/shapes.ts";
import * as payloads from "./contracts/webhook-payloads.ts";
import * as emulatorShapes from "./emulator/shapes.ts";
import type { Operation } from "./operation.ts";
import { type ResourceName, resources } from "./resources.ts";

export { webhookPayloads } from "./contracts/webhook-payloads.ts";

type OperationsIn<Module> = Module extends unknown ? Extract<Module[keyof Module], Operation> : never;

/** Every declared operation, as a union of their exact types. */
type AnyOperation = OperationsIn<(typeof modules)[ResourceName]>;
export type OperationId = AnyOperation["id"];
export type OperationById<Id extends OperationId> = Extract<AnyOperation, { readonly id: Id }>;
/** The IDs of one service's operations. */
export type IdsOf<Name extends Operation["service"]["name"]> = {
  [Resource in ResourceName]: Resource extends `${Name}/${string}`
    ? OperationsIn<(typeof modules)[Resource]>["id"]
    : never;
}[ResourceName];

const isOperation = (value: unknown): value is AnyOperation =>
  typeof value === "object" && value !== null && "id" in value && "responses" in value;

const isSchema = (value: unknown): value is z.ZodType =>
  typeof value === "object" && value !== null && "toJSONSchema" in value;

const listSchemas = (exports: object): [string, z.ZodType][] =>
  Object.entries(exports).filter(
    (entry): entry is [string, z.ZodType] => /^[A-Z]/.test(entry[0]) && isSchema(entry[1]),
  );

const allModules: Readonly<Record<ResourceName, Readonly<Record<string, unknown>>>> = modules;

/**
 * The exported types of resources, shapes and webhook payloads, by their names in the specification: those whose names
 * begin with a capital. If two share a name, no document includes them.
 */
export const schemaNames: ReadonlyMap<z.ZodType, string> = new Map(
  [...Object.values(allModules), contractShapes, payloads, emulatorShapes]
    .flatMap(listSchemas)
    .filter(([name, schema], _, all) => all.every(([other, same]) => other !== name || same === schema))
    .map(([name, schema]) => [schema, name]),
);

/** The operations by resource. */
export const operationsByResource: ReadonlyMap<ResourceName, readonly AnyOperation[]> = new Map(
  (Object.keys(resources) as ResourceName[]).map((name) => [name, Object.values(allModules[name]).filter(isOperation)]),
);

/** All operations: the resources in the order of their list, the operations of each by the names of their constants. */
export const registry: readonly AnyOperation[] = Object.freeze(
  requireUniqueOperations([...operationsByResource.values()].flat()),
);

/** Returns the operation with an ID. Throws an error with suggestions if no operation has the ID. */
export function getOperationById(id: string): AnyOperation {
  const found = registry.find((operation) => operation.id === id);
  if (!found) throw new Error(`Operation ${id} not found. ${suggestOperations(id)}`);
  return found;
}

/** Suggests an operation with a similar ID, or the operations of the same resource. */
function suggestOperations(id: string): string {
  const ids = registry.map((operation) => operation.id);
  const near = findNearest(id, ids);
  if (near !== undefined) return `Did you mean ${near}?`;
  const resource = `${id.split(".")[0]}.`;
  const siblings = ids.filter((id) => id.startsWith(resource));
  return siblings.length > 0
    ? `Operations of the resource: ${siblings.join(", ")}.`
    : "operationIds lists all operations.";
}

/** Returns its argument. Throws an error that identifies both operations if two share an ID, a route or a command. */
export function requireUniqueOperations<One extends Operation>(operations: One[]): One[] {
  const claimed = new Map<string, string>();
  const claim = (what: string, key: string, id: string) => {
    const other = claimed.get(`${what} ${key}`);
    if (other !== undefined) throw new Error(`${id} and ${other} both have the ${what} ${key}`);
    claimed.set(`${what} ${key}`, id);
  };
  for (const { id, service, method, path, cli } of operations) {
    claim("id", id, id);
    // A service that redirects to the other slash cannot have both paths, whatever their parameters are called.
    const shape = path.replaceAll(/\{[^{}]+\}/g, "{}");
    const route = service.slashes === "redirect" ? trimTrailing(shape, "/") : shape;
    for (const verb of [method].flat()) claim("route", `${service.name} ${verb} ${route}`, id);
    claim("command", "by" in cli ? cli.by : cli.command, id);
  }
  return operations;
}
