import type { IncomingMessage } from "node:http";
import type { Operation } from "../../../src/api/operation.ts";
import type { BoundOperation } from "../bind.ts";
import type { RequestTarget } from "./path.ts";

/** Operation that accepts a request, with the values of its parameters. */
export interface OperationMatch {
  readonly bound: BoundOperation;
  readonly params: Readonly<Record<string, string>>;
  /** Path in the spelling of the service, if the spelling of the request differs (DECISIONS.md, C3). */
  readonly documentedPath?: string;
}

interface Route {
  readonly bound: BoundOperation;
  readonly methods: readonly string[];
  /** Segments of the declared path. */
  readonly segments: readonly string[];
  /** Name of the parameter for each segment that is one. */
  readonly names: readonly (string | undefined)[];
  /** Whether the last segment is a parameter that also accepts slashes. */
  readonly takesSlashes: boolean;
  /** A digit for each segment. Smaller digits have priority, from left to right. */
  readonly rank: string;
}

/** Operations of the control plane, or of a listener's services. */
export class OperationTable {
  /** Operations in the order of declaration. */
  readonly all: readonly BoundOperation[];
  readonly #declaredRoutes: readonly Route[];
  /**
   * Routes by priority. A literal segment has priority over a parameter, and a parameter over one that accepts slashes.
   * Fastify's router has the same rules but is slow to build (ARCHITECTURE.md, Written by hand).
   */
  readonly #routes: readonly Route[];
  /** Routes that can accept a path of so many segments. */
  readonly #routesByLength: readonly (readonly Route[])[];
  readonly catchAll: BoundOperation | undefined;
  /** Methods that every path accepts, or all declared methods if there is no catch-all. */
  readonly methods: readonly string[];
  readonly #lenientSlashes: boolean;
  readonly #isControl: boolean;

  /**
   * Creates a table. With `isControl`, every readable path also accepts HEAD (RFC 9110, 9.1) and OPTIONS, which HAProxy
   * sends by default. The services accept neither (DECISIONS.md, P16).
   */
  constructor(
    all: readonly BoundOperation[],
    { lenientSlashes, isControl = false }: { readonly lenientSlashes: boolean; readonly isControl?: boolean },
  ) {
    this.all = all;
    this.#declaredRoutes = all.filter(({ operation }) => !isCatchAll(operation)).map(createRoute);
    this.#routes = this.#declaredRoutes.toSorted((a, b) => Number(a.rank > b.rank) - Number(a.rank < b.rank));
    const maxLength = Math.max(0, ...this.#routes.map(({ segments }) => segments.length));
    this.#routesByLength = Array.from({ length: maxLength + 1 }, (_, length) =>
      this.#routes.filter(({ segments, takesSlashes }) => segments.length === length || takesSlashes),
    );
    this.catchAll = all.find(({ operation }) => isCatchAll(operation));
    this.methods = listMethods(...(this.catchAll ? [this.catchAll] : all));
    this.#lenientSlashes = lenientSlashes;
    this.#isControl = isControl;
  }

  /** Returns undefined if the path or the method is wrong, or a parameter is empty. */
  match(
    { method = "", headers }: IncomingMessage,
    { isPath, path, endsWithSlash }: RequestTarget,
  ): OperationMatch | undefined {
    if (this.#isControl && method === "HEAD") return this.#matchHead(path);
    if (this.#isControl && method === "OPTIONS") return this.#probe(path);
    const match = this.#find(method, path);
    if (match && !(endsWithSlash && match.bound.operation.lastTakesSlashes)) {
      const acceptsEvents = method === "GET" && headers.accept?.includes("text/event-stream");
      return (acceptsEvents && this.#findStream(path)) || match;
    }
    if (isPath && this.catchAll && this.methods.includes(method)) {
      return { bound: this.catchAll, params: { full_path: path.slice(1) } };
    }
    return this.#lenientSlashes ? this.matchOtherSlash(method, path) : undefined;
  }

  /** Returns the first operation of a path, for any method. */
  matchPath(path: string): OperationMatch | undefined {
    return this.#find(undefined, path);
  }

  /** Returns all operations of a path, for any method, in the order of declaration. */
  findAll(path: string): readonly BoundOperation[] {
    const input = path.split("/");
    const routes = this.#declaredRoutes.filter((route) => matchSegments(route, input));
    return routes.filter((route) => !routes.some((other) => hides(other, route))).map(({ bound }) => bound);
  }

  /**
   * Returns the operation of the path with or without a trailing slash, for services that distinguish these paths.
   * Without a method, this is the first operation of the path.
   */
  matchOtherSlash(
    method: string | undefined,
    path: string,
  ): (OperationMatch & { readonly documentedPath: string }) | undefined {
    const documentedPath = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    const match = this.#find(method, documentedPath);
    return match?.bound.operation.service.slashes === "redirect" ? { ...match, documentedPath } : undefined;
  }

  #find(method: string | undefined, path: string): OperationMatch | undefined {
    const input = path.split("/");
    let first: Route | undefined;
    for (const route of this.#routesByLength[input.length] ?? this.#routes) {
      const values = matchSegments(route, input);
      if (!values) continue;
      first ??= route;
      if (hides(first, route)) return undefined;
      if (method !== undefined && !route.methods.includes(method)) continue;
      const params: Record<string, string> = Object.create(null);
      for (let i = 0; i < values.length; i += 1) if (route.names[i] !== undefined) params[route.names[i]!] = values[i]!;
      return { bound: route.bound, params };
    }
    return undefined;
  }

  /** Returns the operation that streams the events of a path, if there is one. */
  #findStream(path: string): OperationMatch | undefined {
    const match = this.#find("GET", `${path}/events`);
    return match && isStream(match.bound) ? match : undefined;
  }

  /** A stream does not end, so a HEAD request for it has no result. */
  #matchHead(path: string): OperationMatch | undefined {
    const match = this.#find("GET", path);
    return match && isStream(match.bound) ? undefined : match;
  }

  #probe(path: string): OperationMatch | undefined {
    const match = this.#matchHead(path);
    return match && isProbe(match.bound.operation) ? match : undefined;
  }
}

function createRoute(bound: BoundOperation): Route {
  const { method, path, lastTakesSlashes } = bound.operation;
  const segments = path.split("/");
  const names = segments.map((segment) => (segment[0] === "{" ? segment.slice(1, -1) : undefined));
  const rank = names.map((name) => (name === undefined ? 0 : 1)).join("");
  return {
    bound,
    methods: [method].flat(),
    segments,
    names,
    takesSlashes: lastTakesSlashes === true,
    rank: lastTakesSlashes ? rank.replace(/1$/, "2") : rank,
  };
}

/**
 * Returns whether a route takes a path from another one that also matches it. FastAPI continues with the next path if
 * the method differs; in the framework of the contract API, the first path decides (DECISIONS.md, C1).
 */
const hides = (route: Route, other: Route): boolean =>
  route.rank < other.rank && route.bound.operation.service.dialect === "platform";

/** Returns the text for each declared segment, or undefined if the route does not accept the path. */
function matchSegments(
  { segments, names, takesSlashes }: Route,
  input: readonly string[],
): readonly string[] | undefined {
  const last = segments.length - 1;
  const values =
    takesSlashes && input.length > segments.length ? [...input.slice(0, last), input.slice(last).join("/")] : input;
  if (values.length !== segments.length) return undefined;
  // Most paths differ at their end.
  for (let i = last; i >= 0; i -= 1) {
    if (names[i] === undefined ? values[i] !== segments[i] : values[i] === "") return undefined;
  }
  return values;
}

/** Returns whether the operation accepts all paths of no other operation. */
export const isCatchAll = ({ path }: Operation): boolean => path === "/{full_path}";

/** Returns whether load balancers and monitors request the operation. */
export const isProbe = ({ id }: Operation): boolean => id === "emulator.ready" || id === "emulator.live";

const isStream = ({ operation }: BoundOperation): boolean =>
  Object.values(operation.responses).some(({ kind }) => kind === "events");

/** Lists each method once, in the order of declaration. */
export const listMethods = (...bounds: readonly BoundOperation[]): readonly string[] => [
  ...new Set(bounds.flatMap(({ operation }) => [operation.method].flat())),
];
