import type { IncomingMessage } from "node:http";
import type { WallClock } from "../../../src/base/clock.ts";
import { Deadlines } from "../outgoing/deadlines.ts";

/** DECISIONS.md, R16 and C24 */
export const maxBodyBytes = 64 * 1024 * 1024;

/** Of a request, or of the notifications that it would make the emulator send. */
export class MaxBodyBytesExceededError extends Error {
  override readonly name = "MaxBodyBytesExceededError";
}

/** The caller went away before its body was complete: there is no connection to answer. */
export class BodyAbortedError extends Error {
  override readonly name = "BodyAbortedError";
}

/** The caller takes longer than a request may. */
export class BodyTimeoutError extends Error {
  override readonly name = "BodyTimeoutError";
}

/** Whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && headers["content-length"] !== "0");

/**
 * Longest time that a request may take to arrive; wall-clock milliseconds. A client that sends it drop by drop holds a
 * connection forever.
 */
export interface BodyReadTimeouts {
  /** From its first byte to the end of its head. Node checks it, and answers 408 itself. */
  readonly headMs: number;
  /** For the whole of a body that is read into memory, and for the unread rest after the response. */
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
  collect(raw: IncomingMessage, maxBytes = maxBodyBytes): Promise<Buffer> {
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

  /** After the response: Node reads the rest of a body, so that the connection can be used again. */
  discard(raw: IncomingMessage): void {
    if (!hasBody(raw) || raw.complete || raw.destroyed) return;
    const leave = this.#whole.enter(() => raw.socket.destroy());
    raw.once("close", leave);
  }

  /** Removes all deadlines. */
  stop(): void {
    this.#whole.stop();
    this.#paces.stop();
  }
}

/**
 * The whole body as one Buffer. Fails with MaxBodyBytesExceededError as soon as it is known to be over `maxBytes`, and with BodyTimeoutError
 * when `enter`, which gives the way to leave, has called back first.
 */
function readBody(raw: IncomingMessage, maxBytes: number, enter: (late: () => void) => () => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(raw.headers["content-length"]) > maxBytes) return reject(new MaxBodyBytesExceededError("announced"));
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (error?: Error) => {
      raw.off("data", onData).off("end", onEnd).off("close", onClose);
      leave();
      if (error) reject(error);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) done(new MaxBodyBytesExceededError("sent"));
      else chunks.push(chunk);
    };
    const onEnd = () => done();
    const onClose = () => done(new BodyAbortedError("aborted"));
    const leave = enter(() => done(new BodyTimeoutError("the body was not received in time")));
    raw.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}
