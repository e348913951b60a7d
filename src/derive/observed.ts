import { isObject } from "../base/object.ts";

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
    const id = typeof node.operationId === "string" ? node.operationId.replace(/^webhook\./, "webhook ") : undefined;
    const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, walk(value, id ?? operation)]));
    if (id !== undefined) return { ...inner, ...mark(id) };
    if (typeof node.code === "string" && typeof node.when === "string")
      return { ...inner, ...mark(`${operation} ${node.code}`) };
    return inner;
  };
  return walk(document, "") as T;
}
