/** A proxy for requests. */
export interface ForwardProxy {
  /** Its origin, without credentials, so that it can be shown. */
  readonly origin: string;
  /** For `proxy-authorization`. */
  readonly authorization: string | undefined;
}

/** The proxy for requests to that address; undefined for a direct connection. */
export type ProxyResolver = (url: URL) => ForwardProxy | undefined;

/** A failure at the proxy: it was unreachable, or it rejected a tunnel. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
  /** Its response to CONNECT. */
  readonly status: number | undefined;

  constructor(of: { status?: number; cause?: unknown }) {
    super("no tunnel", { cause: of.cause });
    this.status = of.status;
  }
}
