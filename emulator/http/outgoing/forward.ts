import { Agent, buildConnector, type Dispatcher, errors } from "undici";
import type { WallClock } from "../../../src/base/clock.ts";
import { createContinueSkippingConnector, hasNoBody } from "../../../src/base/response-quirks.ts";
import type { timedOut } from "../../../src/base/timing.ts";
import type { Cause } from "../../store/cause.ts";
import type { ReceivedRequest } from "../handler.ts";
import { hopByHopHeaders, isEmulatorHeader, parseConnectionHeader, removeHeaders } from "../hop-by-hop.ts";
import { Passthrough } from "../reply.ts";
import { toOriginForm } from "../routing/path.ts";
import { type CausePropagator, toLinkHeader } from "./cause-propagator.ts";
import { TimeoutPool } from "./deadlines.ts";
import { maxHeadBytes } from "./post-exchange.ts";

export type ForwardableRequest = Pick<
  ReceivedRequest,
  "method" | "target" | "rawHeaders" | "body" | "remoteAddress" | "origin"
> & {
  /** Cause of the request. Only listeners of this emulator receive it. */
  readonly cause?: Cause | undefined;
};

/** Result of sending one request to one server. `reason` is a code such as ECONNREFUSED. */
export type ForwardResult =
  | { readonly kind: "answered"; readonly response: Passthrough }
  | { readonly kind: "unreachable"; readonly reason: string };

export interface PendingForward {
  /** Resolves with the head of the response and streams its body. Never rejects. */
  readonly result: Promise<ForwardResult>;
  /** Aborts the request when the client no longer waits for the response. */
  abort(): void;
}

/** Forwards received requests to other servers, over real HTTP. */
export interface Forwarder {
  /**
   * Sends method, target, headers and body unchanged, without hop-by-hop headers and with `via` and `x-forwarded-*`.
   * Does not follow redirects.
   */
  send(url: string, request: ForwardableRequest): PendingForward;
  /**
   * Returns the result of `work`, or `timedOut` if the work takes longer than `ms` of wall-clock time. The work itself
   * continues.
   */
  withTimeout<T>(ms: number, work: Promise<T>): Promise<T | typeof timedOut>;
  /** Returns whether this forwarder sent the request itself, which happens if a URL points back at the sender. */
  isOwn(request: Pick<ReceivedRequest, "headers">): boolean;
  close(): Promise<void>;
}

/** Error for aborted requests. It is created once, because each new error would capture a stack. */
const clientGoneError = new Error("The caller has stopped waiting");

/** Headers that apply only to one connection or one message framing. */
const unforwardedHeaders = new Set([
  ...hopByHopHeaders,
  // The body has already been received.
  "expect",
  // The length is computed again from the body. A GET has no length.
  "content-length",
]);

interface ForwarderOptions {
  readonly wall: WallClock;
  /** Pseudonym in `via` by which the forwarder recognizes its own requests. */
  readonly pseudonym: string;
  /** Undefined if receivers must not get the cause. */
  readonly links?: CausePropagator;
}

export function createForwarder({ wall, pseudonym, links }: ForwarderOptions): Forwarder {
  const agent = new Agent({
    connections: 256,
    pipelining: 1,
    maxHeaderSize: maxHeadBytes,
    connect: createContinueSkippingConnector(buildConnector({ timeout: 10_000 })),
  });
  const timeouts = new TimeoutPool(wall);
  return {
    send(url, request) {
      const base = new URL(url);
      const path = `${base.pathname.replace(/\/$/, "")}${toOriginForm(request.target) ?? "/"}`;
      const headers = createHeaders(request, pseudonym);
      const link = request.cause && links?.createLink(base.origin, request.cause);
      if (link !== undefined) headers.push(...toLinkHeader(link));
      const body = request.body.length > 0 ? request.body : null;
      const pendingForward = startForward(agent, request.method, { origin: base.origin, path, headers, body });
      if (link !== undefined) void pendingForward.result.then(() => links?.end(link));
      return pendingForward;
    },
    withTimeout: (ms, work) => timeouts.withTimeout(ms, work),
    isOwn: ({ headers }) => headers.via?.split(",").some((hop) => hop.trim().split(/\s+/)[1] === pseudonym) ?? false,
    close() {
      timeouts.stop();
      return agent.destroy();
    },
  };
}

/** Sends one request to one server. */
export function startForward(
  agent: Agent,
  method: string,
  request: Omit<Dispatcher.DispatchOptions, "method">,
): PendingForward {
  let exchange: ForwardExchange | undefined;
  const result = new Promise<ForwardResult>((resolve) => {
    exchange = new ForwardExchange(method, resolve);
    agent.dispatch({ ...request, method: method as "GET" }, exchange);
  });
  return { result, abort: () => exchange?.abort(clientGoneError) };
}

/** The headers are created in one pass, because this runs for each forwarded request. */
function createHeaders({ rawHeaders, remoteAddress, origin }: ForwardableRequest, pseudonym: string): string[] {
  let headers: string[] = [];
  let via = "";
  let forwardedFor = "";
  let host: string | undefined;
  let forwardedHost: string | undefined;
  let protocol: string | undefined;
  let connection = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const value = rawHeaders[i + 1]!;
    const name = rawHeaders[i]!.toLowerCase();
    if (name === "via") via += value && `${value}, `;
    else if (name === "x-forwarded-for") forwardedFor += value && `${value}, `;
    else if (name === "x-forwarded-host") forwardedHost ||= value;
    else if (name === "x-forwarded-proto") protocol ||= value;
    else if (name === "host") host ||= value;
    else if (name === "connection") connection += `${value},`;
    else if (!unforwardedHeaders.has(name) && !isEmulatorHeader(name)) headers.push(rawHeaders[i]!, value);
  }
  const connectionHeaders = parseConnectionHeader(connection);
  if (connectionHeaders.length > 0) headers = removeHeaders(headers, connectionHeaders);
  headers.push("via", `${via}1.1 ${pseudonym}`, "x-forwarded-for", `${forwardedFor}${remoteAddress}`);
  // A proxy in front of the emulator sends the host and scheme of the client.
  headers.push("x-forwarded-host", forwardedHost || host || origin.slice(origin.indexOf("//") + 2));
  headers.push("x-forwarded-proto", protocol || origin.slice(0, origin.indexOf(":")));
  return headers;
}

export function omitHeaders(request: ForwardableRequest, names: readonly string[]): ForwardableRequest {
  return { ...toRequestParts(request), rawHeaders: removeHeaders(request.rawHeaders, names) };
}

export const replaceTarget = (request: ForwardableRequest, target: string): ForwardableRequest => ({
  ...toRequestParts(request),
  target,
});

/** A received request has getters, which a spread skips. */
function toRequestParts({
  method,
  target,
  rawHeaders,
  body,
  remoteAddress,
  origin,
  cause,
}: ForwardableRequest): ForwardableRequest {
  return { method, target, rawHeaders, body, remoteAddress, origin, cause };
}

function getReason(error: unknown): string {
  if (error instanceof errors.UndiciError) return error.code;
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

const noBytes = Buffer.alloc(0);

/** Maximum size of the part of a response that waits for a slow client. */
const maxBufferedBytes = 65_536;

/**
 * One forwarded request, which receives the callbacks of undici (see PostExchange). A complete response that arrives
 * with its head, as most responses do, is forwarded in one write without a stream.
 */
class ForwardExchange implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #settle: (result: ForwardResult) => void;
  readonly #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #hasHead = false;
  /** Result of the request. Undefined while the request is in progress. */
  #end: { readonly cause?: unknown } | undefined;
  #abort: ((cause: Error) => void) | undefined;
  #resume = () => {};
  #wake = () => {};

  /** Creates an exchange that calls `settle` once. */
  constructor(method: string, settle: (result: ForwardResult) => void) {
    this.#method = method;
    this.#settle = settle;
  }

  /** Ends the request with that cause. Does nothing if the request has ended. */
  abort(cause: Error): void {
    if (this.#end) return;
    this.onError(cause);
    this.#abort?.(cause);
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    // The request was aborted while it waited for a connection.
    if (this.#end) abort(new Error("the caller has stopped waiting"));
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    // An informational response precedes the final response.
    if (status < 200) return true;
    this.#hasHead = true;
    // undici rejects a length without a body as an invalid response.
    if (this.#method === "HEAD" || hasNoBody(status)) this.#end = {};
    this.#resume = resume;
    const headers = rawHeaders.map((text) => text.toString("latin1"));
    // The callback runs after everything that arrived with the head.
    queueMicrotask(() => {
      this.#settle({ kind: "answered", response: new Passthrough(status, headers, this.#createBody()) });
    });
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    this.#wake();
    return this.#bufferedBytes < maxBufferedBytes;
  }

  onComplete(): void {
    this.#end ??= {};
    this.#wake();
  }

  onError(cause: Error): void {
    if (this.#end) return;
    this.#end = { cause };
    if (!this.#hasHead) this.#settle({ kind: "unreachable", reason: getReason(cause) });
    this.#wake();
  }

  #createBody(): Passthrough["body"] {
    if (!this.#end || "cause" in this.#end) return this.#readPieces();
    if (this.#chunks.length === 0) return noBytes;
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }

  /**
   * Yields the pieces as they arrive. Throws if the response is truncated. Closes the connection if the consumer stops
   * or never starts.
   */
  #readPieces(): AsyncIterable<Uint8Array> {
    const pieces = this.#read();
    const stop = async () => {
      this.abort(new Error("the response is not read"));
      return { done: true, value: undefined } as const;
    };
    return { [Symbol.asyncIterator]: () => ({ next: () => pieces.next(), return: stop }) };
  }

  async *#read(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      for (let chunk = this.#chunks.shift(); chunk; chunk = this.#chunks.shift()) {
        this.#bufferedBytes -= chunk.length;
        yield chunk;
      }
      if (this.#end && "cause" in this.#end) throw this.#end.cause;
      if (this.#end) return;
      this.#resume();
      if (this.#chunks.length > 0 || this.#end) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
