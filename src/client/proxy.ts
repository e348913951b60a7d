export interface ForwardProxy {
  /** Origin without credentials, for display. */
  readonly origin: string;
  readonly authorization: string | undefined;
}

/** Returns the proxy for requests to a URL, or undefined for a direct connection. */
export type ProxyResolver = (url: URL) => ForwardProxy | undefined;

/** Thrown when the proxy is unreachable or rejects a tunnel. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
  readonly status: number | undefined;

  constructor(of: { status?: number; cause?: unknown }) {
    super("no tunnel", { cause: of.cause });
    this.status = of.status;
  }
}
