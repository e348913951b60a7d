import type { IncomingMessage, ServerResponse } from "node:http";
import type { WallClock } from "../../src/base/clock.ts";
import type { Cause } from "../store/cause.ts";
import { BodyAbortedError, BodyTimeoutError, hasBody, readBody } from "./bodies/body-limits.ts";
import type { ReceivedRequest } from "./handler.ts";
import { Deadlines } from "./outgoing/deadlines.ts";
import type { ForwardedInfo } from "./trusted-proxies.ts";

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

const noBytes = Buffer.alloc(0);

/** A request that came through a trusted proxy, or that another process of the same store forwarded. */
interface From {
  readonly proxyInfo: ForwardedInfo | undefined;
  /** Address of the caller of the other process; undefined: the peer of the connection. */
  readonly remoteAddress: string | undefined;
  /** Address of the listener for clients, if it is configured. */
  readonly publicUrl: string | undefined;
}

/** A request of Node as handlers see it. What is seldom asked for is made when asked for. */
export class IncomingRequest implements ReceivedRequest {
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #open: Set<() => void>;
  readonly #from: From | undefined;
  #abort: AbortController | undefined;
  readonly target: string;
  body: Buffer = noBytes;
  /** Set by the exchange that it belongs to. */
  cause!: Cause;

  /** `open` holds the signals of the callers, so that closing the listener can end them too. */
  constructor(raw: IncomingMessage, response: ServerResponse, target: string, open: Set<() => void>, from?: From) {
    this.#raw = raw;
    this.#response = response;
    this.#open = open;
    this.#from = from;
    this.target = target;
  }

  get method(): string {
    return this.#raw.method!;
  }

  get headers(): ReceivedRequest["headers"] {
    // Node gives a list for set-cookie alone, which no request carries.
    return this.#raw.headers as ReceivedRequest["headers"];
  }

  get rawHeaders(): readonly string[] {
    return this.#raw.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#from?.remoteAddress ?? this.#raw.socket.remoteAddress ?? "";
  }

  get origin(): string {
    const { host } = this.#raw.headers;
    const { proxyInfo, publicUrl } = this.#from ?? {};
    if (proxyInfo === undefined) return `http://${host}`;
    return publicUrl ?? `${proxyInfo.protocol ?? "http"}://${proxyInfo.host ?? host}`;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#abort = abort;
      this.onDisconnect(() => abort.abort());
    }
    return this.#abort.signal;
  }

  onDisconnect(tell: () => void): void {
    if (this.#response.destroyed) {
      tell();
      return;
    }
    this.#open.add(tell);
    this.#response.once("close", () => {
      this.#open.delete(tell);
      if (!this.#response.writableFinished) tell();
    });
  }
}
