import type { IncomingMessage, ServerResponse } from "node:http";
import type { Cause } from "../store/cause.ts";
import type { ReceivedRequest } from "./handler.ts";
import type { Told } from "./proxies.ts";

const noBytes = Buffer.alloc(0);

/** A request that came through a proxy which is believed. */
interface Forwarded {
  readonly told: Told;
  /** Where clients find the listener, if somebody said so. */
  readonly publicUrl: string | undefined;
}

/** A request of Node as handlers see it. What is seldom asked for is made when asked for. */
export class Received implements ReceivedRequest {
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #open: Set<() => void>;
  readonly #from: Forwarded | undefined;
  #abort: AbortController | undefined;
  readonly target: string;
  body: Buffer = noBytes;
  /** Set by the exchange that it belongs to. */
  cause!: Cause;

  /** `open` holds who is told when the caller goes away, so that closing the listener can end them too. */
  constructor(raw: IncomingMessage, response: ServerResponse, target: string, open: Set<() => void>, from?: Forwarded) {
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
    return this.#raw.socket.remoteAddress ?? "";
  }

  get origin(): string {
    const { host } = this.#raw.headers;
    if (this.#from === undefined) return `http://${host}`;
    const { told, publicUrl } = this.#from;
    return publicUrl ?? `${told.protocol ?? "http"}://${told.host ?? host}`;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#abort = abort;
      this.whenGone(() => abort.abort());
    }
    return this.#abort.signal;
  }

  whenGone(tell: () => void): void {
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
