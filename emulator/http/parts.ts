import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import { CausedStore } from "../store/causes.ts";
import type { Store } from "../store/port.ts";
import type { Authenticate, Authenticators, Call, ReceivedRequest, ReportFinding } from "./handler.ts";
import type { Passthrough } from "./reply.ts";

/** A handler whose input and caller types were checked at its declaration and are unknown here. */
export type AnyHandler = (input: never, context: never) => unknown;

/** Operations that one listener serves, with their resources. A listener may have several parts. */
export interface Part {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, AnyHandler>>;
  readonly context: object;
  readonly authenticate: Authenticators<object>;
}

/** Any handler that fits this context. Its input and caller were checked at its declaration. */
export type HandlerIn<W extends object> = (input: never, context: W & Call<FailureCode, never>) => unknown;

interface PartSpec<W extends object> {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, HandlerIn<W>>>;
  /** The prototype of the context of each request. Handlers read it by name and never copy it. */
  readonly context: W;
  readonly authenticate?: Readonly<Partial<Record<Operation["auth"], Authenticate<W>>>>;
}

/** Creates a part. A context that lacks a resource of a handler does not compile. */
export const createPart = <W extends object>({ authenticate = {}, ...rest }: PartSpec<W>): Part =>
  ({ ...rest, authenticate }) as Part;

/**
 * The prototype of request contexts with the store of the request, which is the cause of its writes. Created on demand,
 * because most requests read once and write nothing.
 */
export function createCallContext(context: object): object {
  const { store } = context as { readonly store?: Store };
  if (store === undefined) return context;
  return Object.create(context, {
    store: {
      get(this: Call<FailureCode, unknown>) {
        return new CausedStore(store, this.request.cause);
      },
    },
  });
}

/** A scripted fault of one incoming request. Its parts apply in this order. */
export interface RequestFault {
  /** Wall-clock milliseconds to wait before anything else. */
  readonly latencyMs?: number;
  /** Ends the connection without a response; the operation does not run. */
  readonly reset?: boolean;
  /** Responds with this status instead of the operation. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body for `status` (default: a sentence that names the fault). */
  readonly body?: unknown;
  /** A short description of the effect, and the script that caused it, for the request log. */
  readonly effect?: string;
  /** Runs the operation, announces its whole response, sends half of it and closes the connection. */
  readonly truncated?: boolean;
}

/**
 * Called once per request, after routing and before authentication. It counts, so it must be called only once.
 * `operation` is undefined if no operation is declared for the path.
 */
export type FindRequestFault = (
  request: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: Operation | undefined,
) => RequestFault | undefined;

/** Handles a request for which nothing is declared. Undefined for 404. */
export type Fallback = (
  request: ReceivedRequest,
  finding: ReportFinding,
) => Promise<Passthrough | undefined> | Passthrough | undefined;

/**
 * Decides whether pages of an origin may read the responses of a path. Undefined if the path is not for pages of other
 * origins.
 */
export type IsOriginAllowed = (path: string, origin: string) => Promise<boolean> | undefined;
