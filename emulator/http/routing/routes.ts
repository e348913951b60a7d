import type { Operation } from "../../../src/api/operation.ts";

/** Branches after a position in a path. A parameter accepts any other segment except an empty one. */
interface RouteNode {
  readonly literal: Map<string, RouteNode>;
  parameter: RouteNode | undefined;
  /** Operations whose path ends here, in the order of declaration. */
  readonly routes: Route[];
  /** Routes whose last parameter starts here and accepts slashes. */
  readonly slashRoutes: Route[];
}

interface Route {
  /** Index of the operation in the list. */
  readonly index: number;
  readonly methods: readonly string[];
  /** Names of the parameters, from left to right. */
  readonly names: readonly string[];
}

export interface FoundRoute {
  /** Index of the operation in the list. */
  readonly index: number;
  readonly params: Readonly<Record<string, string>>;
}

const createNode = (): RouteNode => ({ literal: new Map(), parameter: undefined, routes: [], slashRoutes: [] });

/** Returns whether the operation accepts all paths of no other operation. */
export const isCatchAll = ({ path }: Operation): boolean => path === "/{full_path}";

/**
 * Operations by method and decoded path, without the catch-all. A literal segment has priority over a parameter if the
 * rest of the path allows it, and a parameter over one that accepts slashes. Fastify's router has the same rules but is
 * slow to build (ARCHITECTURE.md, Written by hand).
 */
export class Routes {
  readonly #root = createNode();
  /** Index of the operation at `<path>/events`, by the index of a GET that has such an event stream. */
  readonly streams: ReadonlyMap<number, number>;

  constructor(operations: readonly Operation[]) {
    for (const [index, operation] of operations.entries()) if (!isCatchAll(operation)) this.#add(operation, index);
    this.streams = findStreams(operations);
  }

  /** Returns the operation that accepts a request, by default of any method, with the values of its parameters. */
  find(method: string | undefined, path: string): FoundRoute | undefined {
    const values: string[] = [];
    const route = this.#search(path, values, ({ methods }) => method === undefined || methods.includes(method));
    return route && { index: route.index, params: createParams(route, values) };
  }

  /** Returns the indexes of all operations of a path, for any method, in the order of declaration. */
  findAll(path: string): readonly number[] {
    const indexes = new Set<number>();
    this.#search(path, [], ({ index }) => {
      indexes.add(index);
      return false;
    });
    return [...indexes].sort((a, b) => a - b);
  }

  #search(path: string, values: string[], accepts: (route: Route) => boolean): Route | undefined {
    return path[0] === "/" ? searchRoutes(this.#root, path, 1, values, accepts) : undefined;
  }

  #add({ path, method, lastTakesSlashes }: Operation, index: number): void {
    const names: string[] = [];
    const route = { index, names, methods: [method].flat() };
    const segments = path.slice(1).split("/");
    let node = this.#root;
    for (const [i, segment] of segments.entries()) {
      if (segment.startsWith("{")) {
        names.push(segment.slice(1, -1));
        if (lastTakesSlashes && i === segments.length - 1) node.slashRoutes.push(route);
        node.parameter ??= createNode();
        node = node.parameter;
      } else {
        const next = node.literal.get(segment) ?? createNode();
        node.literal.set(segment, next);
        node = next;
      }
    }
    node.routes.push(route);
  }
}

function findStreams(operations: readonly Operation[]): ReadonlyMap<number, number> {
  const gets = new Map(
    operations.flatMap(({ method, path }, index) => (method === "GET" ? [[path, index] as const] : [])),
  );
  const pairs: [number, number][] = [];
  for (const [path, index] of gets) {
    const stream = gets.get(`${path}/events`);
    if (stream !== undefined && operations[stream]!.responses[200]?.kind === "events") pairs.push([index, stream]);
  }
  return new Map(pairs);
}

/** Finds a route for the path from the index `from`. Stores the values of its parameters in `values`. */
function searchRoutes(
  node: RouteNode,
  path: string,
  from: number,
  values: string[],
  accepts: (route: Route) => boolean,
): Route | undefined {
  if (from > path.length) return node.routes.find(accepts);
  const slash = path.indexOf("/", from);
  const end = slash < 0 ? path.length : slash;
  const segment = path.slice(from, end);
  const literal = node.literal.get(segment);
  const literalRoute = literal && searchRoutes(literal, path, end + 1, values, accepts);
  if (literalRoute) return literalRoute;
  if (node.parameter && segment !== "") {
    values.push(segment);
    const parameterRoute = searchRoutes(node.parameter, path, end + 1, values, accepts);
    if (parameterRoute) return parameterRoute;
    values.pop();
  }
  const slashRoute = from < path.length ? node.slashRoutes.find(accepts) : undefined;
  if (slashRoute) values.push(path.slice(from));
  return slashRoute;
}

/** Parameters by name. They have a class prototype, because V8 makes Object.create(null) a slower hash table. */
const Params = function Params() {} as unknown as new () => Record<string, string>;
Params.prototype = Object.create(null);

function createParams({ names }: Route, values: readonly string[]): Record<string, string> {
  const params = new Params();
  for (let i = 0; i < names.length; i += 1) params[names[i]!] = values[i]!;
  return params;
}
