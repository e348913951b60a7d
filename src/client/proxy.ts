/** A proxy that requests go through. */
export interface ForwardProxy {
  /** Its origin, without credentials: it may be shown. */
  readonly origin: string;
  /** For `proxy-authorization`. */
  readonly authorization: string | undefined;
}

/** The proxy of requests to that address; undefined if they go straight there. */
export type ProxyResolver = (url: URL) => ForwardProxy | undefined;

/** The failure at the proxy: it was not reached, or it did not open a tunnel. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
  /** Its response to CONNECT. */
  readonly status: number | undefined;

  constructor(of: { status?: number; cause?: unknown }) {
    super("no tunnel", { cause: of.cause });
    this.status = of.status;
  }
}
