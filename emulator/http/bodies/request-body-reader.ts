import type { IncomingMessage } from "node:http";
import type { WallClock } from "../../../src/base/clock.ts";
import { DeadlineList } from "../../../src/base/timing.ts";

/** See DECISIONS.md, R16 and C24. */
export const maxBodyBytes = 64 * 1024 * 1024;

/** The request exceeds the limit, or the notifications that it would cause exceed it. */
export class MaxBodyBytesExceededError extends Error {
  override readonly name = "MaxBodyBytesExceededError";
}

/** The client disconnected before its body was complete, so no response is possible. */
export class BodyAbortedError extends Error {
  override readonly name = "BodyAbortedError";
}

/** The body takes longer than its timeout. */
export class BodyTimeoutError extends Error {
  override readonly name = "BodyTimeoutError";
}

/** Returns whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && headers["content-length"] !== "0");

/** Wall-clock timeouts for reading a request, because a client could send one byte at a time forever. */
export interface BodyReadTimeouts {
  /** Time from the first byte of a request to the end of its head. Node checks this timeout and responds with 408. */
  readonly headTimeoutMs: number;
  /** Time for a body that is read into memory, and for the unread rest of a body after the response. */
  readonly bodyTimeoutMs: number;
  /** Interval in which at least `minPaceBytes` of an upload must arrive. An upload has no other timeout. */
  readonly paceIntervalMs: number;
  readonly minPaceBytes: number;
}

export const defaultBodyReadTimeouts: BodyReadTimeouts = {
  headTimeoutMs: 60_000,
  bodyTimeoutMs: 120_000,
  paceIntervalMs: 60_000,
  minPaceBytes: 60 * 1024,
};

/** Reads the bodies of one listener, each with a timeout. */
export class RequestBodyReader {
  readonly #limits: BodyReadTimeouts;
  readonly #bodyDeadlines: DeadlineList<() => void>;
  readonly #paceDeadlines: DeadlineList<() => void>;

  constructor(wall: WallClock, limits: BodyReadTimeouts) {
    const callTimeout = (onTimeout: () => void) => onTimeout();
    this.#limits = limits;
    this.#bodyDeadlines = new DeadlineList(wall, limits.bodyTimeoutMs, callTimeout);
    this.#paceDeadlines = new DeadlineList(wall, limits.paceIntervalMs, callTimeout);
  }

  /** Reads the whole body. Rejects with MaxBodyBytesExceededError, BodyAbortedError or BodyTimeoutError. */
  collect(raw: IncomingMessage, maxBytes = maxBodyBytes): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (Number(raw.headers["content-length"]) > maxBytes) return reject(new MaxBodyBytesExceededError("announced"));
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (error?: Error) => {
        raw.off("data", onData).off("end", onEnd).off("close", onClose);
        cancel();
        if (error) reject(error);
        else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
      };
      const onData = (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) finish(new MaxBodyBytesExceededError("sent"));
        else chunks.push(chunk);
      };
      const onEnd = () => finish();
      const onClose = () => finish(new BodyAbortedError("aborted"));
      const onTimeout = () => finish(new BodyTimeoutError("the body was not received in time"));
      const cancel = this.#bodyDeadlines.add(onTimeout);
      raw.on("data", onData).on("end", onEnd).on("close", onClose);
    });
  }

  /** Reads a body in pieces. Throws BodyAbortedError. Closes the connection if they arrive too slowly. */
  async *readPieces(raw: IncomingMessage): AsyncGenerator<Uint8Array, void> {
    let receivedBytes = 0;
    let checkedBytes = 0;
    const checkPace = () => {
      if (receivedBytes - checkedBytes < this.#limits.minPaceBytes)
        return void raw.destroy(new BodyTimeoutError("the body was received too slowly"));
      checkedBytes = receivedBytes;
      cancel = this.#paceDeadlines.add(checkPace);
    };
    let cancel = this.#paceDeadlines.add(checkPace);
    try {
      // A destroyed request would no longer read its connection, and the next request on it would wait forever.
      for await (const piece of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
        receivedBytes += piece.byteLength;
        yield piece;
      }
    } catch (cause) {
      throw new BodyAbortedError("aborted", { cause });
    } finally {
      cancel();
    }
  }

  /** Reads the rest of a body after the response, for a limited time, so that the connection can be reused. */
  discard(raw: IncomingMessage): void {
    if (!hasBody(raw) || raw.readableEnded || raw.destroyed) return;
    // Node does this itself only if no part of the body was read. Unlike resume(), a listener also takes effect if a
    // reader stops later.
    raw.on("data", () => {});
    const cancel = this.#bodyDeadlines.add(() => raw.socket.destroy());
    raw.once("close", cancel);
  }

  stop(): void {
    this.#bodyDeadlines.stop();
    this.#paceDeadlines.stop();
  }
}
