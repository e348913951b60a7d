import type { IncomingMessage } from "node:http";
import type { Service } from "../../../src/api/services.ts";
import type { BoundOperation } from "../bind.ts";
import type { RequestTarget } from "./path.ts";
import { type FoundRoute, type Routes, routesOf } from "./routes.ts";

/** The operation that accepts a request, with the values of its parameters. */
export interface Match extends Pick<FoundRoute, "params"> {
  readonly bound: BoundOperation;
  /** The path as the service spells it, where another was asked for (DECISIONS.md, C3). */
  readonly documented?: string;
}

/** The operations that a request may mean: those of the control plane, or those of a listener's services. */
export class OperationTable {
  /** In the order of declaration. */
  readonly all: readonly BoundOperation[];
  readonly #routes: Routes;
  readonly #catchAll: BoundOperation | undefined;
  /** The methods that it accepts. */
  readonly #caught: ReadonlySet<string>;
  readonly #lenientSlashes: boolean;
  readonly #isControl: boolean;

  /**
   * `isControl`: every readable path accepts HEAD, too (RFC 9110, 9.1), and OPTIONS of probes, which HAProxy uses by
   * default. The services do not (DECISIONS.md, P16).
   */
  constructor(
    all: readonly BoundOperation[],
    { lenientSlashes, isControl = false }: { readonly lenientSlashes: boolean; readonly isControl?: boolean },
  ) {
    this.all = all;
    this.#routes = routesOf(all.map(({ operation }) => operation));
    this.#catchAll = all.find(({ steps }) => steps.isCatchAll);
    this.#caught = new Set(this.#catchAll && methodsOf(this.#catchAll));
    this.#lenientSlashes = lenientSlashes;
    this.#isControl = isControl;
  }

  /** Undefined: the path is wrong, or the method, or a parameter is empty. */
  match({ method = "", headers }: IncomingMessage, { isPath, path }: RequestTarget): Match | undefined {
    if (this.#isControl && method === "HEAD") return this.#head(path);
    if (this.#isControl && method === "OPTIONS") return this.#probe(path);
    const found = this.#routes.find(method, path);
    if (found) return this.#wanted(found, headers.accept);
    if (isPath && this.#catchAll && this.#caught.has(method)) {
      return { bound: this.#catchAll, params: { full_path: path.slice(1) } };
    }
    return this.#lenientSlashes ? this.otherSlash(method, path) : undefined;
  }

  /** Every operation of a path, whatever its method. */
  at(path: string): readonly BoundOperation[] {
    return this.#routes.allAt(path).map((at) => this.all[at]!);
  }

  /** The operation that the same path with the other slash would have meant, of those services that care. */
  otherSlash(method: string, path: string): (Match & { readonly documented: string }) | undefined {
    const documented = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    const found = this.#routes.find(method, documented);
    const bound = found && this.all[found.at]!;
    return bound?.operation.service.slashes === "redirect" ? { bound, params: found!.params, documented } : undefined;
  }

  /** Words what belongs to no operation. */
  get service(): Service | undefined {
    return this.all[0]?.operation.service;
  }

  /** The methods that are accepted at every path, if there are any; else all declared methods. */
  get methods(): readonly string[] {
    return this.#catchAll ? methodsOf(this.#catchAll) : methodsOf(...this.all);
  }

  get hasCatchAll(): boolean {
    return this.#catchAll !== undefined;
  }

  /** A stream would have no end, and nothing of it would be seen. */
  #head(path: string): Match | undefined {
    const found = this.#routes.find("GET", path);
    const match = found && this.#wanted(found, undefined);
    return match && isStream(match.bound) ? undefined : match;
  }

  #probe(path: string): Match | undefined {
    const match = this.#head(path);
    return match && isProbe(match.bound) ? match : undefined;
  }

  #wanted({ at, params }: FoundRoute, accept: string | undefined): Match {
    const stream = this.#routes.streams.get(at);
    const isMeant = stream !== undefined && accept?.includes("text/event-stream");
    return { bound: this.all[isMeant ? stream : at]!, params };
  }
}

/** Whether balancers and monitors ask for it. */
export const isProbe = ({ operation: { id } }: BoundOperation): boolean =>
  id === "emulator.ready" || id === "emulator.live";

const isStream = ({ operation }: BoundOperation): boolean =>
  Object.values(operation.responses).some(({ kind }) => kind === "events");

/** Each once, in the order of declaration. */
export const methodsOf = (...bounds: readonly BoundOperation[]): readonly string[] => [
  ...new Set(bounds.flatMap(({ operation }) => [operation.method].flat())),
];
