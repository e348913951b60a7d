import type { Bound } from "./bind.ts";

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
    const route = findIn(this.#root, path.split("/"), 0, method, values);
    return route && { bound: route.bound, params: paramsOf(route, values) };
  }

  /** Every operation of a path, whatever its method, in the order of declaration. */
  at(path: string): readonly Bound[] {
    const routes: Route[] = [];
    collect(this.#root, path.split("/"), 0, routes);
    return routes.sort((a, b) => a.order - b.order).map(({ bound }) => bound);
  }

  #add(bound: Bound, order: number): void {
    const { path, method, lastTakesSlashes } = bound.operation;
    const names: string[] = [];
    const route = { bound, order, names, methods: [method].flat() };
    const segments = path.split("/");
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

/** Leaves the values of the parameters in `values`. */
function findIn(
  node: RouteNode,
  path: readonly string[],
  at: number,
  method: string,
  values: string[],
): Route | undefined {
  if (at === path.length) return node.ends.find(({ methods }) => methods.includes(method));
  const segment = path[at]!;
  const literal = node.literal.get(segment);
  const found = literal && findIn(literal, path, at + 1, method, values);
  if (found) return found;
  if (node.parameter && segment !== "") {
    values.push(segment);
    const other = findIn(node.parameter, path, at + 1, method, values);
    if (other) return other;
    values.pop();
  }
  const rest = isRest(path) ? node.rests.find(({ methods }) => methods.includes(method)) : undefined;
  if (rest) values.push(path.slice(at).join("/"));
  return rest;
}

/** A slash at the very end is a spelling of the path, not a part of the value. */
const isRest = (path: readonly string[]): boolean => path.at(-1) !== "";

function collect(node: RouteNode, path: readonly string[], at: number, into: Route[]): void {
  if (at === path.length) {
    into.push(...node.ends);
    return;
  }
  const segment = path[at]!;
  const literal = node.literal.get(segment);
  if (literal) collect(literal, path, at + 1, into);
  if (node.parameter && segment !== "") collect(node.parameter, path, at + 1, into);
  if (at < path.length - 1 && isRest(path)) into.push(...node.rests);
}

function paramsOf({ names }: Route, values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = Object.create(null);
  for (const [i, name] of names.entries()) params[name] = values[i]!;
  return params;
}
