import type { Fail, FailureCode } from "../../src/api/failures.ts";
import type { Auth, InputOf, Operation, ResultOf } from "../../src/api/operation.ts";
import type { OperationById, OperationId } from "../../src/api/registry.ts";
import type { Clock, WallClock } from "../../src/base/clock.ts";
import type { Ids } from "../../src/base/ids.ts";
import type { Cause } from "../store/cause.ts";
import type { Store } from "../store/port.ts";
import type { Resync } from "./event-stream.ts";
import type { EventFrames, JsonPieces, Passthrough, ReplyTo } from "./reply.ts";

/** Resources of every handler of one emulator. */
export interface HandlerContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly ids: Ids;
}

/** The parts of the request that its validated input lacks: bytes, header order, the original target. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Lower-case names. Repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Name, value, name, value, … as sent. */
  readonly rawHeaders: readonly string[];
  /** Empty for a streamed body. */
  readonly body: Buffer;
  /** Address of the socket's other end. */
  readonly remoteAddress: string;
  /** The `http://host:port` of the request. Behind a trusted proxy, it is the public URL of the listener. */
  readonly origin: string;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Calls the listener when the client disconnects before its response. Cheaper than a signal. */
  onDisconnect(listener: () => void): void;
  readonly cause: Cause;
}

/** Records in the request log that the emulator accepted something which the real service may reject. */
export type ReportFinding = (code: string, detail?: string) => void;

/**
 * The context of one request, in addition to its input. `Caller` is the authenticated caller. The shared context is its
 * prototype: it is read by name, and a spread copy lacks it. The request is the cause of all transactions of its store.
 */
export interface Call<Code extends FailureCode, Caller> {
  readonly request: ReceivedRequest;
  readonly caller: Caller;
  readonly fail: Fail<Code>;
  readonly finding: ReportFinding;
}

type CodesOf<O extends Operation> = O["failures"][number] | O["service"]["failures"][number];

/** A forwarded response is only possible if the declaration allows it. */
type ForwardedOutput<O extends Operation> =
  Extract<O["responses"][keyof O["responses"]], { kind: "passthrough" }> extends never ? never : Passthrough;

type PiecesOutput<O extends Operation> =
  Extract<O["responses"][keyof O["responses"]], { inPieces: true }> extends never ? never : JsonPieces;

/** A stream of events may contain a note about dropped events, and finished frames. */
type StreamOutput<O extends Operation> =
  ResultOf<O> extends AsyncIterable<infer Event> ? AsyncIterable<Event | Resync> | AsyncIterable<EventFrames> : never;

type OutputOf<O extends Operation> = ResultOf<O> | StreamOutput<O> | ReplyTo<O> | ForwardedOutput<O> | PiecesOutput<O>;

/**
 * A handler contains domain logic only: its input is decoded, authenticated and validated. It returns the bare body if
 * one success is declared, otherwise `reply(status, body)`, or a Passthrough if that is declared.
 */
export type Handler<O extends Operation, W extends HandlerContext, Caller> = (
  input: InputOf<O>,
  context: W & Call<CodesOf<O>, Caller>,
) => Promise<OutputOf<O>> | OutputOf<O>;

/** The handlers of a set of operations: a missing or wrong one does not compile. */
export type Handlers<Ids extends OperationId, W extends HandlerContext, Caller> = {
  readonly [Id in Ids]: Handler<OperationById<Id>, W, Caller>;
};

/** Identity of a request in the request log, which an authenticator sets. */
export interface RequestIdentity {
  /** Name of the control token. */
  caller: string | undefined;
  /** Workspace of the API key or of the control token. */
  workspaceId: number | undefined;
}

/** Resources of an authenticator in addition to the request. */
export interface AuthenticationCall<W extends object = HandlerContext> {
  readonly operation: Operation;
  readonly context: W;
  readonly finding: ReportFinding;
  /** Its line in the request log. */
  readonly line: RequestIdentity;
}

/**
 * Returns the caller that the credentials identify, or rejects with `fail` from src/api/failures.ts (the operation must
 * declare the code). Called once per request, at the position of `credentials` in `service.checks`.
 */
export type Authenticate<W extends object = HandlerContext, Caller = unknown> = (
  request: ReceivedRequest,
  call: AuthenticationCall<W>,
) => Promise<Caller> | Caller;

/** One authenticator per kind of credentials; `none` needs none. */
export type Authenticators<W extends object = HandlerContext> = Readonly<Partial<Record<Auth, Authenticate<W>>>>;
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

/** A scripted fault of one incoming request. Its parts apply in this order. */
export interface RequestFault {
  /** Wall-clock milliseconds to wait before anything else. */
  readonly latencyMs?: number | undefined;
  /** Ends the connection without a response; the operation does not run. */
  readonly reset?: boolean | undefined;
  /** Responds with this status instead of the operation. */
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body for `status` (default: a sentence that names the fault). */
  readonly body?: unknown;
  /** A short description of the effect, and the script that caused it, for the request log. */
  readonly effect?: string | undefined;
  /** Runs the operation, announces its whole response, sends half of it and closes the connection. */
  readonly truncated?: boolean | undefined;
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
