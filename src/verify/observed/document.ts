import { isObject } from "../../base/object.ts";
import type { Observations } from "./rules.ts";

/** An OpenAPI document with what was observed of each operation and failure: `x-basis: observed`, how often, and when last. */
export function markObserved(document: object, { seen, rules }: Observations): object {
  const mark = (claim: string): Readonly<Record<string, unknown>> => {
    const found = Object.hasOwn(seen, claim) ? seen[claim] : undefined;
    if (!found) return {};
    const differs = rules.filter((rule) => rule.claim === claim).map(({ id }) => id);
    return {
      "x-basis": "observed",
      "x-observed": { times: found.count, last: found.at, ...(differs.length > 0 && { differs }) },
    };
  };
  const walk = (node: unknown, operation: string): unknown => {
    if (Array.isArray(node)) return node.map((one) => walk(one, operation));
    if (!isObject(node)) return node;
    const id = typeof node.operationId === "string" ? node.operationId : operation;
    const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, walk(value, id)]));
    if (typeof node.operationId === "string") return { ...inner, ...mark(id) };
    if (typeof node.code === "string" && typeof node.when === "string")
      return { ...inner, ...mark(`${id} ${node.code}`) };
    return inner;
  };
  return walk(document, "") as object;
}
