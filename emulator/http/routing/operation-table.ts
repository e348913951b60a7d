import type { IncomingMessage } from "node:http";
import type { Service } from "../../../src/api/services.ts";
import type { Bound } from "../bind.ts";
import type { Target } from "./path.ts";
import { type RouteMatch, Routes } from "./routes.ts";

/** The operation that takes a request, with the values of its parameters. */
export interface Match extends RouteMatch {
  /** The path as the service spells it, where another was asked for (DECISIONS.md, C3). */
  readonly documented?: string;
}

/** The operations that a request may mean: those of the control plane, or those of a listener's services. */
export class OperationTable {
  /** In the order of declaration. */
  readonly all: readonly Bound[];
  readonly #routes: Routes;
  readonly #catchAll: Bound | undefined;
  /** The methods that it takes. */
  readonly #caught: ReadonlySet<string>;
  /** For a GET that asks for events: the operation at `<path>/events`. */
  readonly #streams: ReadonlyMap<Bound, Bound>;
  readonly #lenientSlashes: boolean;

  constructor(all: readonly Bound[], { lenientSlashes }: { readonly lenientSlashes: boolean }) {
    this.all = all;
    this.#routes = new Routes(all);
    this.#catchAll = all.find(({ isCatchAll }) => isCatchAll);
    this.#caught = new Set(this.#catchAll && methodsOf(this.#catchAll));
    this.#streams = streamsOf(all);
    this.#lenientSlashes = lenientSlashes;
  }

  /** Undefined: the path is wrong, or the method, or a parameter is empty. */
  match({ method = "", headers }: IncomingMessage, { isPath, path }: Target): Match | undefined {
    const found = this.#routes.find(method, path);
    if (found) return this.#wanted(found, headers.accept);
    if (isPath && this.#catchAll && this.#caught.has(method)) {
      return { bound: this.#catchAll, params: { full_path: path.slice(1) } };
    }
    return this.#lenientSlashes ? this.otherSlash(method, path) : undefined;
  }

  /** Every operation of a path, whatever its method. */
  at(path: string): readonly Bound[] {
    return this.#routes.at(path);
  }

  /** The operation that the same path with the other slash would have meant, of those services that care. */
  otherSlash(method: string, path: string): (Match & { readonly documented: string }) | undefined {
    const documented = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    const found = this.#routes.find(method, documented);
    return found?.bound.operation.service.slashes === "redirect" ? { ...found, documented } : undefined;
  }

  /** Words what belongs to no operation. */
  get service(): Service | undefined {
    return this.all[0]?.operation.service;
  }

  /** The methods that something takes at every path, if anything does; else all that there are. */
  get methods(): readonly string[] {
    return this.#catchAll ? methodsOf(this.#catchAll) : methodsOf(...this.all);
  }

  get hasCatchAll(): boolean {
    return this.#catchAll !== undefined;
  }

  #wanted(found: RouteMatch, accept: string | undefined): RouteMatch {
    const stream = this.#streams.get(found.bound);
    return stream && accept?.includes("text/event-stream") ? { ...found, bound: stream } : found;
  }
}

/** Each once, in the order of declaration. */
export const methodsOf = (...bounds: readonly Bound[]): readonly string[] => [
  ...new Set(bounds.flatMap(({ operation }) => [operation.method].flat())),
];

function streamsOf(all: readonly Bound[]): ReadonlyMap<Bound, Bound> {
  const gets = new Map(
    all.filter(({ operation }) => operation.method === "GET").map((bound) => [bound.operation.path, bound]),
  );
  const pairs: [Bound, Bound][] = [];
  for (const [path, bound] of gets) {
    const stream = gets.get(`${path}/events`);
    if (stream && stream.operation.responses[200]?.kind === "events") pairs.push([bound, stream]);
  }
  return new Map(pairs);
}
