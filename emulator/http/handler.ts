import type { Fail, FailureCode } from "../../src/api/failures.ts";
import type { Auth, InputOf, Operation, ResultOf } from "../../src/api/operation.ts";
import type { OperationById, OperationId } from "../../src/api/registry.ts";
import type { Clock, WallClock } from "../../src/base/clock.ts";
import type { Ids } from "../../src/base/ids.ts";
import type { Cause, Store, Transaction } from "../store/port.ts";
import type { DroppedEventsNotice } from "./event-stream.ts";
import type { EventFrames, OperationReply, Passthrough } from "./reply.ts";
import type { RequestTarget } from "./routing/path.ts";

/** Resources of all handlers of one emulator. */
export interface HandlerContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly ids: Ids;
}

/** Parts of the request that its validated input lacks, such as bytes, header order and the original target. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  readonly parsedTarget: RequestTarget;
  /** Lower-case names. Repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[];
  /** Empty for a streamed body. */
  readonly body: Buffer;
  /** Address of the peer of the socket. */
  readonly remoteAddress: string;
  /** The `http://host:port` of the request. Behind a trusted proxy, this is the public URL of the listener. */
  readonly origin: string;
  /** The signal is aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Calls the listener when the client disconnects before its response. This is cheaper than a signal. */
  onDisconnect(listener: () => void): void;
  readonly cause: Cause;
  /** The ID of the matched operation. Undefined if no operation is declared for the path and method. */
  readonly operation?: string | undefined;
}

/** Adds a finding to the request log: the emulator accepted something that the real service may reject. */
export type FindingReporter = (code: string, detail?: string) => void;

/**
 * Context of one request, in addition to its input. `Caller` is the authenticated caller. The shared context is the
 * prototype, so a spread copy lacks its properties. The request is the cause of all transactions of the store.
 */
export interface HandlerCall<Code extends FailureCode, Caller> {
  readonly request: ReceivedRequest;
  readonly caller: Caller;
  readonly fail: Fail<Code>;
  readonly finding: FindingReporter;
}

type CodesOf<O extends Operation> = O["failures"][number] | O["service"]["failures"][number];

/** An output that a handler can return only if a declared response has these properties. */
type OutputIf<O extends Operation, Declared, Output> =
  Extract<O["responses"][keyof O["responses"]], Declared> extends never ? never : Output;

/** A stream of events can also contain notices of dropped events, and finished frames. */
type StreamOutput<O extends Operation> =
  ResultOf<O> extends AsyncIterable<infer Event> ? AsyncIterable<Event | DroppedEventsNotice | EventFrames> : never;

type OutputOf<O extends Operation> =
  | ResultOf<O>
  | StreamOutput<O>
  | OperationReply<O>
  | OutputIf<O, { kind: "empty" }, void>
  | OutputIf<O, { kind: "passthrough" }, Passthrough>
  | OutputIf<O, { inPieces: true }, AsyncIterable<string>>;

/**
 * A handler contains only domain logic, because its input is decoded, authenticated and validated. It returns the bare
 * body, or nothing, if one success is declared, otherwise `reply(status, body)`. It can return a Passthrough if the
 * declaration allows this.
 */
export type OperationHandler<O extends Operation, W extends HandlerContext, Caller> = (
  input: InputOf<O>,
  context: W & HandlerCall<CodesOf<O>, Caller>,
) => Promise<OutputOf<O>> | OutputOf<O>;

/** Handlers of a set of operations. A missing or wrong handler does not compile. */
export type OperationHandlers<Ids extends OperationId, W extends HandlerContext, Caller> = {
  readonly [Id in Ids]: OperationHandler<OperationById<Id>, W, Caller>;
};

/** Identity of a request in the request log. An authenticator sets the fields. */
export interface RequestIdentity {
  /** Name of the control token. */
  caller: string | undefined;
  /** Identifies the control token, because a later token can have its name. */
  tokenHash: string | undefined;
  /** The ID of the workspace of the API key or of the control token. */
  workspaceId: number | undefined;
}

/** Resources of an authenticator in addition to the request. */
export interface AuthenticationCall<W extends object = HandlerContext> {
  readonly operation: Operation;
  readonly context: W;
  readonly finding: FindingReporter;
  readonly logEntry: RequestIdentity;
  /** True if the same request is checked again. It counts once. */
  readonly isRepeated: boolean;
}

/**
 * Returns the caller that the credentials identify, or rejects with `fail` from src/api/failures.ts. The operation must
 * declare the failure code. The function is called at the position of `credentials` in `service.checks`, and again
 * after the body has arrived.
 */
export type Authenticator<W extends object = HandlerContext, Caller = unknown> = (
  request: ReceivedRequest,
  call: AuthenticationCall<W>,
) => Promise<Caller> | Caller;

/** One authenticator per kind of credentials. The kind `none` has no authenticator. */
export type Authenticators<W extends object = HandlerContext> = Readonly<Partial<Record<Auth, Authenticator<W>>>>;
/** A handler whose input and caller types were checked at its declaration and are erased here. */
export type UntypedHandler = (input: never, context: never) => unknown;

/** Operations that one listener serves, with their resources. A listener can have several parts. */
export interface ListenerPart {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, UntypedHandler>>;
  readonly context: object;
  readonly authenticate: Authenticators<object>;
}

/** Any handler that accepts this context. Its input and caller were checked at its declaration. */
export type PartHandler<W extends object> = (input: never, context: W & HandlerCall<FailureCode, never>) => unknown;

interface PartSpec<W extends object> {
  readonly operations: readonly Operation[];
  readonly handlers: Readonly<Record<string, PartHandler<W>>>;
  /** Prototype of the context of each request. Handlers must not copy the context. */
  readonly context: W;
  readonly authenticate?: Authenticators<W>;
}

/** Creates a part. A context that lacks a resource of a handler does not compile. */
export const createPart = <W extends object>({ authenticate = {}, ...rest }: PartSpec<W>): ListenerPart =>
  ({ ...rest, authenticate }) as ListenerPart;

/** A scripted fault of one incoming request. The effects apply in the order of the properties. */
export interface RequestFault {
  /** Wall-clock milliseconds to wait before any other effect. */
  readonly latencyMs?: number | undefined;
  /** True if the connection ends without a response. The operation does not run. */
  readonly reset?: boolean | undefined;
  /** Status of a response that replaces the operation. */
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Body of the response with `status`. The default is a sentence that names the fault. */
  readonly body?: unknown;
  /** Short description of the effect for the request log. */
  readonly effect?: string | undefined;
  /** True if the connection closes after half of the response. The headers announce all of it. */
  readonly truncated?: boolean | undefined;
}

/**
 * Returns the fault of a request, after routing and before authentication. The function counts matches, so it must be
 * called only once per request. `operation` is undefined if no operation is declared for the path.
 */
export type RequestFaultFinder = (
  request: Pick<ReceivedRequest, "method" | "target" | "parsedTarget" | "headers">,
  operation: Operation | undefined,
) => RequestFault | undefined;

/** Handles a request for which nothing is declared. Returns undefined if the response is a 404. */
export type RequestFallback = (
  request: ReceivedRequest,
  finding: FindingReporter,
) => Promise<Passthrough | undefined> | Passthrough | undefined;

/** Decides whether pages of an origin can read a path. Undefined if the path is not for such pages. */
export type OriginPredicate = (path: string, origin: string) => boolean | undefined;

type StoreCall = Pick<HandlerContext, "store"> & Pick<HandlerCall<never, unknown>, "request">;

/** Creates a handler that runs in one transaction, which has the name of the operation. */
export const inTransaction =
  <Input, Call extends StoreCall, Output>(
    work: (tx: Transaction, input: Input, call: Call) => Output,
  ): ((input: Input, call: Call) => Promise<Output>) =>
  (input, call) =>
    call.store.transaction(call.request.operation!, (tx) => work(tx, input, call));
