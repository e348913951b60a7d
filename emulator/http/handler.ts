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

/** The request as it came, for what validation does not carry: bytes, header order, the original target. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Lower-case names; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Name, value, name, value, … as sent. */
  readonly rawHeaders: readonly string[];
  /** Empty for a streamed body. */
  readonly body: Buffer;
  /** Address of the socket's other end. */
  readonly remoteAddress: string;
  /** `http://host:port` that the caller spoke to; behind a proxy that is believed, the public URL of the listener. */
  readonly origin: string;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
  /**
   * Calls when the caller goes away before it has its response: a signal costs more than the rest of a short request.
   */
  onDisconnect(tell: () => void): void;
  /** The request as the reason for what it changes. */
  readonly cause: Cause;
}

/** Notes in the request log that something was accepted which the real service may reject. */
export type ReportFinding = (code: string, detail?: string) => void;

/**
 * The context of one request, in addition to its input. `Caller` is the caller that the credentials identify. The world
 * is its prototype: it is read by name, and a spread copy lacks it. The world's store knows the cause of writes: the
 * request is the cause of all its transactions.
 */
export interface Call<Code extends FailureCode, Caller> {
  readonly request: ReceivedRequest;
  readonly caller: Caller;
  readonly fail: Fail<Code>;
  readonly finding: ReportFinding;
}

type CodesOf<O extends Operation> = O["failures"][number] | O["service"]["failures"][number];

/** A cluster's own answer is possible only where the declaration says so. */
type PassedOn<O extends Operation> =
  Extract<O["responses"][keyof O["responses"]], { kind: "passthrough" }> extends never ? never : Passthrough;

type InPieces<O extends Operation> =
  Extract<O["responses"][keyof O["responses"]], { inPieces: true }> extends never ? never : JsonPieces;

/** A stream of events may say that its reader was too slow, and may be in frames that are made already. */
type Streamed<O extends Operation> =
  ResultOf<O> extends AsyncIterable<infer Event> ? AsyncIterable<Event | Resync> | AsyncIterable<EventFrames> : never;

type OutputOf<O extends Operation> = ResultOf<O> | Streamed<O> | ReplyTo<O> | PassedOn<O> | InPieces<O>;

/**
 * A handler: domain only; its input is decoded, authenticated and validated. It answers with the bare body where
 * one success is declared, else with `reply(status, body)`; with a Passthrough where that is declared.
 */
export type Handler<O extends Operation, W extends HandlerContext, Caller> = (
  input: InputOf<O>,
  context: W & Call<CodesOf<O>, Caller>,
) => Promise<OutputOf<O>> | OutputOf<O>;

/** The handlers of a set of operations: a missing or wrong one does not compile. */
export type Handlers<Ids extends OperationId, W extends HandlerContext, Caller> = {
  readonly [Id in Ids]: Handler<OperationById<Id>, W, Caller>;
};

/** Resources of an authenticator in addition to the request. */
export interface AuthenticationCall<W extends object = HandlerContext> {
  readonly operation: Operation;
  readonly world: W;
  readonly finding: ReportFinding;
  /** Its line in the request log. */
  readonly line: { setCaller(caller: string): void };
}

/**
 * Reports whom the credentials of a request name, or rejects with `fail` from src/api/failures.ts (the operation must
 * declare the code). Called once per request, in the place that `service.checks` gives to `credentials`.
 */
export type Authenticate<W extends object = HandlerContext, Caller = unknown> = (
  request: ReceivedRequest,
  call: AuthenticationCall<W>,
) => Promise<Caller> | Caller;

/** One authenticator per kind of credentials; `none` needs none. */
export type Authenticators<W extends object = HandlerContext> = Readonly<Partial<Record<Auth, Authenticate<W>>>>;
