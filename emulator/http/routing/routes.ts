import type { Operation } from "../../../src/api/operation.ts";

/**
 * The branches below one position in a path: literal segments, and the parameter that accepts any other segment that is
 * not empty.
 */
interface RouteNode {
  readonly literal: Map<string, RouteNode>;
  parameter: RouteNode | undefined;
  /** The operations whose path ends here, in the order of declaration. */
  readonly ends: Route[];
  /** Routes whose last parameter begins here and accepts slashes. */
  readonly rests: Route[];
}

interface Route {
  /** Index of its operation in the list. */
  readonly at: number;
  readonly methods: readonly string[];
  /** Its parameters, from left to right. */
  readonly names: readonly string[];
}

export interface FoundRoute {
  /** Index of the operation in the list. */
  readonly at: number;
  readonly params: Readonly<Record<string, string>>;
}

const nowhere = (): RouteNode => ({ literal: new Map(), parameter: undefined, ends: [], rests: [] });

/** The path of the operation that accepts all other paths. */
export const catchAllPath = "/{full_path}";

const routesByFirst = new WeakMap<Operation, Routes[]>();

/** The routes of a list of operations, made once in a process: all its emulators serve the same few lists. */
export function routesOf(operations: readonly Operation[]): Routes {
  const [first] = operations;
  const alike = (first && routesByFirst.get(first)) ?? [];
  const made = alike.find((routes) => routes.areOf(operations));
  if (made) return made;
  const routes = new Routes(operations);
  if (first) routesByFirst.set(first, [...alike, routes]);
  return routes;
}

/**
 * A list of operations by method and decoded path, the catch-all aside. A literal segment wins over a parameter if the
 * rest of the path allows it, and a parameter over one that accepts slashes. By hand: Fastify's own table has the same
 * rules, but adding an operation to it costs more than serving one.
 */
export class Routes {
  readonly #operations: readonly Operation[];
  readonly #root = nowhere();
  /** For a GET of events: the index of the operation at `<path>/events`. */
  readonly streams: ReadonlyMap<number, number>;

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
    for (const [at, operation] of operations.entries()) if (operation.path !== catchAllPath) this.#add(operation, at);
    this.streams = streamsOf(operations);
  }

  /** Whether they lead to these operations, in this order. */
  areOf(operations: readonly Operation[]): boolean {
    const own = this.#operations;
    return own.length === operations.length && own.every((operation, at) => operation === operations[at]);
  }

  /** The operation that accepts a request, with the values of its parameters. */
  find(method: string, path: string): FoundRoute | undefined {
    const values: string[] = [];
    const route = path[0] === "/" ? findIn(this.#root, path, 1, method, values) : undefined;
    return route && { at: route.at, params: paramsOf(route, values) };
  }

  /** Indexes of the operations of a path, whatever their method, in the order of declaration. */
  allAt(path: string): readonly number[] {
    const routes: Route[] = [];
    if (path[0] === "/") collect(this.#root, path, 1, routes);
    return routes.map(({ at }) => at).sort((a, b) => a - b);
  }

  #add({ path, method, lastTakesSlashes }: Operation, at: number): void {
    const names: string[] = [];
    const route = { at, names, methods: [method].flat() };
    const segments = path.slice(1).split("/");
    let node = this.#root;
    for (const [i, segment] of segments.entries()) {
      if (segment.startsWith("{")) {
        names.push(segment.slice(1, -1));
        if (lastTakesSlashes && i === segments.length - 1) node.rests.push(route);
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

function streamsOf(operations: readonly Operation[]): ReadonlyMap<number, number> {
  const gets = new Map(operations.flatMap(({ method, path }, at) => (method === "GET" ? [[path, at] as const] : [])));
  const pairs: [number, number][] = [];
  for (const [path, at] of gets) {
    const stream = gets.get(`${path}/events`);
    if (stream !== undefined && operations[stream]!.responses[200]?.kind === "events") pairs.push([at, stream]);
  }
  return new Map(pairs);
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

/** Index of the next slash, or the end of the path. */
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
 * Values of parameters by name; inherits nothing. What Object.create(null) makes is a table to V8, which after a
 * garbage collection finds again, for each request, how to write into it: that costs more than all the rest of a
 * look-up.
 */
const Params = function Params() {} as unknown as new () => Record<string, string>;
Params.prototype = Object.create(null);

function paramsOf({ names }: Route, values: readonly string[]): Record<string, string> {
  const params = new Params();
  for (let i = 0; i < names.length; i += 1) params[names[i]!] = values[i]!;
  return params;
}
