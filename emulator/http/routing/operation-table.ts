import type { IncomingMessage } from "node:http";
import type { Operation } from "../../../src/api/operation.ts";
import type { BoundOperation } from "../bind.ts";
import type { RequestTarget } from "./path.ts";
import { type FoundRoute, isCatchAll, Routes } from "./routes.ts";

/** Operation that accepts a request, with the values of its parameters. */
export interface OperationMatch extends Pick<FoundRoute, "params"> {
  readonly bound: BoundOperation;
  /** Path in the spelling of the service, if the spelling of the request differs (DECISIONS.md, C3). */
  readonly documentedPath?: string;
}

/** Operations of the control plane, or of a listener's services. */
export class OperationTable {
  /** Operations in the order of declaration. */
  readonly all: readonly BoundOperation[];
  readonly #routes: Routes;
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
    this.#routes = new Routes(all.map(({ operation }) => operation));
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
    const route = this.#routes.find(method, path);
    const isOtherSlash = endsWithSlash && route && this.all[route.index]!.operation.lastTakesSlashes;
    if (route && !isOtherSlash) return this.#selectMatch(route, headers.accept);
    if (isPath && this.catchAll && this.methods.includes(method)) {
      return { bound: this.catchAll, params: { full_path: path.slice(1) } };
    }
    return this.#lenientSlashes ? this.matchOtherSlash(method, path) : undefined;
  }

  /** Returns the first operation of a path, for any method. */
  matchPath(path: string): OperationMatch | undefined {
    const route = this.#routes.find(undefined, path);
    return route && this.#selectMatch(route, undefined);
  }

  /** Returns all operations of a path, for any method. */
  findAll(path: string): readonly BoundOperation[] {
    return this.#routes.findAll(path).map((index) => this.all[index]!);
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
    const route = this.#routes.find(method, documentedPath);
    const bound = route && this.all[route.index]!;
    return bound?.operation.service.slashes === "redirect"
      ? { bound, params: route!.params, documentedPath }
      : undefined;
  }

  /** A stream does not end, so a HEAD request for it has no result. */
  #matchHead(path: string): OperationMatch | undefined {
    const route = this.#routes.find("GET", path);
    const match = route && this.#selectMatch(route, undefined);
    return match && isStream(match.bound) ? undefined : match;
  }

  #probe(path: string): OperationMatch | undefined {
    const match = this.#matchHead(path);
    return match && isProbe(match.bound.operation) ? match : undefined;
  }

  #selectMatch({ index, params }: FoundRoute, accept: string | undefined): OperationMatch {
    const stream = this.#routes.streams.get(index);
    const acceptsStream = stream !== undefined && accept?.includes("text/event-stream");
    return { bound: this.all[acceptsStream ? stream : index]!, params };
  }
}

/** Returns whether load balancers and monitors request the operation. */
export const isProbe = ({ id }: Operation): boolean => id === "emulator.ready" || id === "emulator.live";

const isStream = ({ operation }: BoundOperation): boolean =>
  Object.values(operation.responses).some(({ kind }) => kind === "events");

/** Lists each method once, in the order of declaration. */
export const listMethods = (...bounds: readonly BoundOperation[]): readonly string[] => [
  ...new Set(bounds.flatMap(({ operation }) => [operation.method].flat())),
];
