import { findOperationAt, type Operation } from "../api/operation.ts";
import { registry } from "../api/registry.ts";
import type { Callee, RecordedExchange } from "./exchange.ts";
import { headerOf } from "./exchange.ts";

const declared: readonly Operation[] = registry;
const ofService = (name: Operation["service"]["name"]): readonly Operation[] =>
  declared.filter((one) => one.service.name === name && one.id !== "catch-all");
const services = ["contracts", "router", "storage"] as const;
const operations = new Map(services.map((name) => [name, ofService(name)]));

/** The operation that a request means, and who declares it; undefined if nothing is declared for its path. */
export function findOperation(
  method: string,
  target: string,
): { readonly operation: Operation; readonly callee: Callee } | undefined {
  const path = target.split("?")[0]!;
  for (const callee of services) {
    const operation = findOperationAt(operations.get(callee)!, method, path);
    if (operation) return { operation, callee };
  }
  return undefined;
}

/** An operation by its id, if it is one of the services. */
export const operationNamed = (id: string | undefined): Operation | undefined =>
  id === undefined ? undefined : declared.find((one) => one.id === id);

/** The time of the service at a response, milliseconds: to the millisecond where it says so, else to the second. */
export function clockOf({ headers }: Pick<RecordedExchange["response"], "headers">): number | undefined {
  const message = { headers };
  const time = Date.parse(headerOf(message, "x-svc-time") ?? headerOf(message, "date") ?? "");
  return Number.isNaN(time) ? undefined : time;
}
