import type { IncomingMessage } from "node:http";
import type { WallClock } from "../../src/base/clock.ts";
import { Deadlines } from "./outgoing/deadlines.ts";
import { BodyAbortedError, BodyTimeoutError, hasBody, readBody } from "./read-body.ts";

/** How long a request may take to come; wall milliseconds. Whoever sends it drop by drop holds a connection for ever. */
export interface BodyReadTimeouts {
  /** From its first byte to the end of its head. Node checks it, and answers 408 itself. */
  readonly headMs: number;
  /** For the whole of a body that is read into memory, and for what nobody reads once the answer was given. */
  readonly bodyMs: number;
  /** An upload may take as long as it needs, but in each such time `paceBytes` must come. */
  readonly paceMs: number;
  readonly paceBytes: number;
}

export const defaultBodyReadTimeouts: BodyReadTimeouts = {
  headMs: 60_000,
  bodyMs: 120_000,
  paceMs: 60_000,
  paceBytes: 60 * 1024,
};

/** Receives the bodies of one listener, each within its time. */
export class RequestBodyReader {
  readonly #limits: BodyReadTimeouts;
  readonly #whole: Deadlines<() => void>;
  readonly #paces: Deadlines<() => void>;

  constructor(wall: WallClock, limits: BodyReadTimeouts) {
    const late = (cut: () => void) => cut();
    this.#limits = limits;
    this.#whole = new Deadlines(wall, limits.bodyMs, late);
    this.#paces = new Deadlines(wall, limits.paceMs, late);
  }

  /** The whole body. Fails with MaxBodyBytesExceededError, BodyAbortedError or BodyTimeoutError. */
  collect(raw: IncomingMessage, maxBytes: number): Promise<Buffer> {
    return readBody(raw, maxBytes, (late) => this.#whole.enter(late));
  }

  /** A body in pieces, as they come. Fails with BodyAbortedError; where they come too slowly the connection is cut. */
  async *pieces(raw: IncomingMessage): AsyncGenerator<Uint8Array, void> {
    let received = 0;
    let receivedBefore = 0;
    const checkPace = () => {
      if (received - receivedBefore < this.#limits.paceBytes)
        return void raw.destroy(new BodyTimeoutError("the body was received too slowly"));
      receivedBefore = received;
      leave = this.#paces.enter(checkPace);
    };
    let leave = this.#paces.enter(checkPace);
    try {
      for await (const piece of raw as AsyncIterable<Uint8Array>) {
        received += piece.byteLength;
        yield piece;
      }
    } catch (cause) {
      throw new BodyAbortedError("aborted", { cause });
    } finally {
      leave();
    }
  }

  /** After the answer: Node reads what is left of a body, so that the connection can be used again. */
  discard(raw: IncomingMessage): void {
    if (!hasBody(raw) || raw.complete || raw.destroyed) return;
    const leave = this.#whole.enter(() => raw.socket.destroy());
    raw.once("close", leave);
  }

  /** Nothing is late any more. */
  stop(): void {
    this.#whole.stop();
    this.#paces.stop();
  }
}
