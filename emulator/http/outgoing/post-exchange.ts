import type { Dispatcher } from "undici";
import { hasNoBody } from "../../../src/base/response-quirks.ts";

/** So much of an answer's body is read and kept (DECISIONS.md, P21). */
export const maxResponseBodyBytes = 65_536;

/** The head of an answer may have so much: four times what Node takes, since others are not so strict. */
export const maxHeadBytes = 65_536;

/** How a POST ended: with an answer of any status, or with what kept it from one. */
export type PostOutcome = { readonly status: number; readonly body: Buffer } | { readonly cause: unknown };

/**
 * One POST on its way, told by undici as it goes. It asks for no stream, which would cost more than all the rest, and
 * reads no more of the answer than is kept. The callbacks are those by which undici 7 itself is told: its newer ones
 * parse the header of every answer, which nobody here reads. undici 8, which has them alone, needs Node 22.
 */
export class PostExchange implements Dispatcher.DispatchHandler {
  readonly #tell: (ended: PostOutcome) => void;
  #abort: ((cause: Error) => void) | undefined;
  #status = 0;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #ended = false;

  /** `tell` is called once. */
  constructor(tell: (ended: PostOutcome) => void) {
    this.#tell = tell;
  }

  /** Ends it at once, wherever it is, with that cause; does nothing once it has ended. */
  abort(cause: Error): void {
    this.#end({ cause });
    this.#abort?.(cause);
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    // Broken off while it waited for a connection.
    if (this.#ended) abort(new Error("the caller has stopped waiting"));
  }

  onHeaders(status: number): boolean {
    // An informational answer comes before the one that counts, which overwrites it.
    this.#status = status;
    // What a receiver sends beside a 204 is no part of it: undici takes a length or bytes for a broken answer.
    if (hasNoBody(status)) this.#endWithResponse();
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size >= maxResponseBodyBytes) {
      this.#endWithResponse();
      // Ends the connection: a receiver cannot make us read for ever.
      this.#abort?.(new Error("enough was read"));
    }
    return true;
  }

  onComplete(): void {
    this.#endWithResponse();
  }

  onError(cause: Error): void {
    this.#end({ cause });
  }

  #endWithResponse(): void {
    const [first] = this.#chunks;
    const body = first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#end({ status: this.#status, body: body.subarray(0, maxResponseBodyBytes) });
  }

  #end(ended: PostOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#tell(ended);
  }
}
