import type { Bound } from "../bind.ts";

/** What lies below one place in a path: literal segments, and what takes any other that is not empty. */
interface RouteNode {
  readonly literal: Map<string, RouteNode>;
  parameter: RouteNode | undefined;
  /** The operations whose path ends here, in the order of declaration. */
  readonly ends: Route[];
  /** Those whose last parameter begins here and takes slashes. */
  readonly rests: Route[];
}

interface Route {
  readonly bound: Bound;
  readonly order: number;
  readonly methods: readonly string[];
  /** Of its parameters, from left to right. */
  readonly names: readonly string[];
}

export interface RouteMatch {
  readonly bound: Bound;
  readonly params: Readonly<Record<string, string>>;
}

const nowhere = (): RouteNode => ({ literal: new Map(), parameter: undefined, ends: [], rests: [] });

/**
 * The operations of a listener by method and decoded path, the catch-all aside. A literal segment wins over a
 * parameter wherever the rest of the path allows it, and that over one that takes slashes. By hand: Fastify's own table
 * has the same rules, but adding an operation to it costs more than serving one.
 */
export class Routes {
  readonly #root = nowhere();

  constructor(bounds: readonly Bound[]) {
    for (const [order, bound] of bounds.entries()) if (!bound.isCatchAll) this.#add(bound, order);
  }

  /** The operation that takes a request, with the values of its parameters. */
  find(method: string, path: string): RouteMatch | undefined {
    const values: string[] = [];
    const route = path[0] === "/" ? findIn(this.#root, path, 1, method, values) : undefined;
    return route && { bound: route.bound, params: paramsOf(route, values) };
  }

  /** Every operation of a path, whatever its method, in the order of declaration. */
  at(path: string): readonly Bound[] {
    const routes: Route[] = [];
    if (path[0] === "/") collect(this.#root, path, 1, routes);
    return routes.sort((a, b) => a.order - b.order).map(({ bound }) => bound);
  }

  #add(bound: Bound, order: number): void {
    const { path, method, lastTakesSlashes } = bound.operation;
    const names: string[] = [];
    const route = { bound, order, names, methods: [method].flat() };
    const segments = path.slice(1).split("/");
    let node = this.#root;
    for (const [at, segment] of segments.entries()) {
      if (segment.startsWith("{")) {
        names.push(segment.slice(1, -1));
        if (lastTakesSlashes && at === segments.length - 1) node.rests.push(route);
        node.parameter ??= nowhere();
        node = node.parameter;
      } else {
        const next = node.literal.get(segment) ?? nowhere();
        node.literal.set(segment, next);
        node = next;
      }
    }
    node.ends.push(route);
  }
}

/** Looks below `node` for what begins at `from`. Leaves the values of the parameters in `values`. */
function findIn(node: RouteNode, path: string, from: number, method: string, values: string[]): Route | undefined {
  if (from > path.length) return withMethod(node.ends, method);
  const end = endOfSegment(path, from);
  const segment = path.slice(from, end);
  const literal = node.literal.get(segment);
  const found = literal && findIn(literal, path, end + 1, method, values);
  if (found) return found;
  if (node.parameter && segment !== "") {
    values.push(segment);
    const other = findIn(node.parameter, path, end + 1, method, values);
    if (other) return other;
    values.pop();
  }
  const rest = isRest(path) ? withMethod(node.rests, method) : undefined;
  if (rest) values.push(path.slice(from));
  return rest;
}

function withMethod(routes: readonly Route[], method: string): Route | undefined {
  for (const route of routes) if (route.methods.includes(method)) return route;
  return undefined;
}

/** Where the next slash is; at the end of the path, where none comes. */
function endOfSegment(path: string, from: number): number {
  const slash = path.indexOf("/", from);
  return slash < 0 ? path.length : slash;
}

/** A slash at the very end is a spelling of the path, not a part of the value. */
const isRest = (path: string): boolean => !path.endsWith("/");

function collect(node: RouteNode, path: string, from: number, into: Route[]): void {
  if (from > path.length) {
    into.push(...node.ends);
    return;
  }
  const end = endOfSegment(path, from);
  const segment = path.slice(from, end);
  const literal = node.literal.get(segment);
  if (literal) collect(literal, path, end + 1, into);
  if (node.parameter && segment !== "") collect(node.parameter, path, end + 1, into);
  if (end < path.length && isRest(path)) into.push(...node.rests);
}

/**
 * Values of parameters by name; inherits nothing. What Object.create(null) makes is a table to V8, which after a garbage
 * collection finds anew, for each request, how to write into it: that costs more than all the rest of a look-up.
 */
const Params = function Params() {} as unknown as new () => Record<string, string>;
Params.prototype = Object.create(null);

function paramsOf({ names }: Route, values: readonly string[]): Record<string, string> {
  const params = new Params();
  for (let i = 0; i < names.length; i += 1) params[names[i]!] = values[i]!;
  return params;
}
