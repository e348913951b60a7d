import type { IncomingMessage, ServerResponse } from "node:http";
import type { Cause } from "../store/cause.ts";
import type { ReceivedRequest } from "./handler.ts";
import type { ForwardedInfo } from "./trusted-proxies.ts";

const noBytes = Buffer.alloc(0);

/** A request that came through a trusted proxy, or that another process of the same store forwarded. */
interface From {
  readonly told: ForwardedInfo | undefined;
  /** Of who called the other process; undefined: of who is on the connection. */
  readonly remoteAddress: string | undefined;
  /** Where clients find the listener, if somebody said so. */
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

  /** `open` holds who is told when the caller goes away, so that closing the listener can end them too. */
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
    const { told, publicUrl } = this.#from ?? {};
    if (told === undefined) return `http://${host}`;
    return publicUrl ?? `${told.protocol ?? "http"}://${told.host ?? host}`;
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
