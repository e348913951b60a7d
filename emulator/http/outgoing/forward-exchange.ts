import type { Dispatcher } from "undici";
import { hasNoBody } from "../../../src/base/response-quirks.ts";
import { Passthrough } from "../reply.ts";

/** Result of sending one request to one server: the head of a response, or the reason why there is none. */
export type ForwardOutcome = { readonly answer: Passthrough } | { readonly cause: unknown };

const noBytes = Buffer.alloc(0);

/** This much of a response may wait for a caller that reads slower than the server sends. */
const waitingBytes = 65_536;

/**
 * One forwarded request; undici calls it with each step (see PostExchange for the callbacks). A response that came
 * whole with its head, as most do, is forwarded whole: one write, and no stream, which would cost more than all the
 * rest.
 */
export class ForwardExchange implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #tell: (forwarded: ForwardOutcome) => void;
  readonly #chunks: Buffer[] = [];
  #waiting = 0;
  #hasHead = false;
  /** How it ended; undefined: it continues. */
  #end: { readonly cause?: unknown } | undefined;
  #abort: ((cause: Error) => void) | undefined;
  #goOn = () => {};
  #wake = () => {};

  /** `tell` is called once. */
  constructor(method: string, tell: (forwarded: ForwardOutcome) => void) {
    this.#method = method;
    this.#tell = tell;
  }

  /** Ends it at once, wherever it is, with that cause; does nothing once it has ended. */
  abort(cause: Error): void {
    if (this.#end) return;
    this.onError(cause);
    this.#abort?.(cause);
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    // Broken off while it waited for a connection.
    if (this.#end) abort(new Error("the caller has stopped waiting"));
  }

  onHeaders(status: number, rawHeaders: Buffer[], goOn: () => void): boolean {
    // Another answer comes after an informational one.
    if (status < 200) return true;
    this.#hasHead = true;
    // undici treats a length without a body as a broken response.
    if (this.#method === "HEAD" || hasNoBody(status)) this.#end = {};
    this.#goOn = goOn;
    const headers = rawHeaders.map((text) => text.toString("latin1"));
    // Once everything that came with the head has been delivered.
    queueMicrotask(() => this.#tell({ answer: new Passthrough(status, headers, this.#body()) }));
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
    this.#wake();
    return this.#waiting < waitingBytes;
  }

  onComplete(): void {
    this.#end ??= {};
    this.#wake();
  }

  onError(cause: Error): void {
    if (this.#end) return;
    this.#end = { cause };
    if (!this.#hasHead) this.#tell({ cause });
    this.#wake();
  }

  #body(): Passthrough["body"] {
    if (!this.#end || "cause" in this.#end) return this.#pieces();
    if (this.#chunks.length === 0) return noBytes;
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }

  /** As they come; fails if the response breaks off. Readers that stop, or never begin, end the connection. */
  #pieces(): AsyncIterable<Uint8Array> {
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
        this.#waiting -= chunk.length;
        yield chunk;
      }
      if (this.#end && "cause" in this.#end) throw this.#end.cause;
      if (this.#end) return;
      this.#goOn();
      if (this.#chunks.length > 0 || this.#end) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
