import type { FailureCode } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import { CausedStore } from "../store/causes.ts";
import type { Store } from "../store/port.ts";
import type { Authenticate, Authenticators, Call, ReceivedRequest, ReportFinding } from "./handler.ts";
import type { Passthrough } from "./reply.ts";

/** A handler whose exact input and caller were checked where it was written, and are not known here. */
export type AnyHandler = (input: never, context: never) => unknown;

/** Operations that one listener serves, with what they need. A listener may carry several parts. */
export interface Part {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, AnyHandler>>;
  readonly world: object;
  readonly authenticate: Authenticators<object>;
}

/** Any handler that gets along with this world; its input and its caller were checked where it was written. */
export type HandlerIn<W extends object> = (input: never, context: W & Call<FailureCode, never>) => unknown;

interface PartSpec<W extends object> {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, HandlerIn<W>>>;
  /** The context of each request is its prototype: handlers read it by name, and never copy it. */
  readonly world: W;
  readonly authenticate?: Readonly<Partial<Record<Operation["auth"], Authenticate<W>>>>;
}

/** Puts a part together: a world that lacks what one of the handlers needs does not compile. */
export const createPart = <W extends object>({ authenticate = {}, ...rest }: PartSpec<W>): Part =>
  ({ ...rest, authenticate }) as Part;

/**
 * The world as prototype of requests: its store is that of the request, which is the cause of its writes. Created on
 * demand, since most requests read once and write nothing.
 */
export function createCallContext(world: object): object {
  const { store } = world as { readonly store?: Store };
  if (store === undefined) return world;
  return Object.create(world, {
    store: {
      get(this: Call<FailureCode, unknown>) {
        return new CausedStore(store, this.request.cause);
      },
    },
  });
}

/** A scripted fault of one incoming request. What is given happens in this order. */
export interface RequestFault {
  /** Wall-clock milliseconds to wait before anything else. */
  readonly latencyMs?: number;
  /** Ends the connection without a response; the operation does not run. */
  readonly reset?: boolean;
  /** Answers with this status instead of the operation. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body that goes with `status`; default: a sentence that names the fault. */
  readonly body?: unknown;
  /** The action, in a few words, and the script that caused it: for the outcome of a request. */
  readonly effect?: string;
  /** Runs the operation, announces its whole response, sends half of it and ends the connection. */
  readonly truncated?: boolean;
}

/**
 * Asked once per request, after it was matched and before credentials. It counts, so it must be asked only once.
 * `operation` is undefined if no operation is declared for the path.
 */
export type FindRequestFault = (
  request: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: Operation | undefined,
) => RequestFault | undefined;

/** Answers a request for which nothing is declared; undefined: it knows no better than 404. */
export type Fallback = (
  request: ReceivedRequest,
  finding: ReportFinding,
) => Promise<Passthrough | undefined> | Passthrough | undefined;

/** Whether pages of an origin may read the responses of a path; undefined: the path is not for pages of other origins. */
export type IsOriginAllowed = (path: string, origin: string) => Promise<boolean> | undefined;
