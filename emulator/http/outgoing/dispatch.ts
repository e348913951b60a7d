import type { Readable } from "node:stream";
import { Agent, buildConnector, type Dispatcher, errors } from "undici";
import { createDeferred } from "../../../src/base/concurrency.ts";
import { createContinueSkippingConnector, hasNoBody, maxHeadBytes } from "../../../src/base/response-quirks.ts";
import { lookupHost } from "../../../src/files/machine.ts";
import { Passthrough } from "../reply.ts";

/** Creates a client of servers that are not the emulator's own. */
export const createAgent = (connect: buildConnector.BuildOptions, options: Agent.Options): Agent =>
  new Agent({
    pipelining: 1,
    maxHeaderSize: maxHeadBytes,
    connect: createContinueSkippingConnector(buildConnector({ lookup: lookupHost, ...connect })),
    ...options,
  });

/**
 * Result of sending one request to one server. `reason` is a code such as ECONNREFUSED. `isSent` is false if there was
 * no connection, so that the server cannot have received the request.
 */
export type ForwardResult =
  | { readonly kind: "answered"; readonly response: Passthrough }
  | { readonly kind: "unreachable"; readonly reason: string; readonly isSent: boolean; readonly cause: Error };

export type PendingForward = Pick<ForwardExchange, "result" | "abort">;

/** Error for aborted requests. It is created once, because each new error would capture a stack. */
const clientGoneError = new Error("The caller has stopped waiting");

interface ForwardRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>> | string[];
  readonly body: string | Uint8Array | Readable | null;
}

/** Sends one request to one server. */
export function startForward(agent: Agent, { origin, path, method, headers, body }: ForwardRequest): PendingForward {
  const exchange = new ForwardExchange(method);
  // Fields are listed one by one: in Node 20 a copy with an extra field gets a hidden class of its own, and undici then
  // takes 12 µs to read the fields.
  agent.dispatch({ origin, path, method: method as "GET", headers, body }, exchange);
  return exchange;
}

function getReason(error: unknown): string {
  if (error instanceof errors.UndiciError) return error.code;
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

const noBytes = Buffer.alloc(0);
const ignore = (): void => {};

/** Maximum size of the part of a response that waits for a slow client. */
const maxBufferedBytes = 65_536;

/**
 * One request, which receives the callbacks of undici. A complete response that arrives with its head, as most
 * responses do, is forwarded in one write without a stream. The callbacks are those of undici 7, because its newer
 * callbacks parse all headers. undici 8 supports only the newer callbacks and requires Node 22.
 */
class ForwardExchange implements Dispatcher.DispatchHandler {
  readonly #method: string;
  /** Resolves with the head of the response and streams its body. Never rejects. */
  readonly result: Promise<ForwardResult>;
  readonly #result = createDeferred<ForwardResult>();
  readonly #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #hasHead = false;
  /** Result of the request. Undefined while the request is in progress. */
  #end: { readonly cause?: unknown } | undefined;
  #abort: ((cause: Error) => void) | undefined;
  #resume = ignore;
  #wake = ignore;

  constructor(method: string) {
    this.#method = method;
    this.result = this.#result.promise;
  }

  /** Ends the request, by default because the client no longer waits. Does nothing if the request has ended. */
  abort(cause = clientGoneError): void {
    if (this.#end) return;
    this.onError(cause);
    this.#abort?.(cause);
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    // The request was aborted while it waited for a connection.
    if (this.#end) abort(clientGoneError);
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    // An informational response precedes the final response.
    if (status < 200) return true;
    this.#hasHead = true;
    // undici rejects a length without a body as an invalid response.
    if (this.#method === "HEAD" || hasNoBody(status)) this.#end = {};
    this.#resume = resume;
    // The callback runs after everything that arrived with the head.
    void Promise.resolve().then(() => {
      const headers = rawHeaders.map((text) => text.toString("latin1"));
      this.#result.resolve({ kind: "answered", response: new Passthrough(status, headers, this.#createBody()) });
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
    const isSent = this.#abort !== undefined;
    if (!this.#hasHead) this.#result.resolve({ kind: "unreachable", reason: getReason(cause), isSent, cause });
    this.#wake();
  }

  #createBody(): Passthrough["body"] {
    if (!this.#end || "cause" in this.#end) return this.#readPieces();
    if (this.#chunks.length === 0) return noBytes;
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }

  /** Throws if the response is truncated. Closes the connection if the consumer stops or never starts. */
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
