import type { WallClock } from "../base/clock.ts";
import { getTlsReason, isCertificateFailure, type TlsFailure, toTlsFailure } from "../base/errors.ts";
import { lookupTable } from "../base/object.ts";
import {
  InvalidArgumentsError,
  NetworkError,
  ProxyError,
  ResponseTooLargeError,
  RetryAfterTooLongError,
} from "./errors.ts";
import { SizeLimitError } from "./limits.ts";
import type { ClientOptions } from "./published.d.ts";
import type { HttpRequest, HttpResponse } from "./request.ts";

export interface ForwardProxy {
  /** Origin without credentials, for display. */
  readonly origin: string;
  readonly authorization: string | undefined;
}

/** Thrown when the proxy is unreachable or rejects a tunnel. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
  readonly status: number | undefined;

  constructor(options: { status?: number; cause?: unknown }) {
    super("no tunnel", { cause: options.cause });
    this.status = options.status;
  }
}

interface FailedRequest {
  readonly request: HttpRequest;
  readonly repeatable: boolean;
  readonly proxy: ForwardProxy | undefined;
  readonly isSent: boolean;
}

const reasonsByCode = lookupTable<string>({
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name lookup failed",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the host cannot be reached",
  ECONNRESET: "the connection was closed",
  EPIPE: "the connection was closed",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  UND_ERR_HEADERS_TIMEOUT: "no response in time",
  Z_DATA_ERROR: "the compressed response is damaged",
  Z_BUF_ERROR: "the compressed response was incomplete",
  // undici reports this for every invalid head with a length, too.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the response was incomplete or not valid HTTP",
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "the server does not accept HTTP/1.1 over TLS",
  // undici asserts that a status is at least 100.
  ERR_ASSERTION: "the response was incomplete or not valid HTTP",
});

const tlsReasons: Readonly<Record<TlsFailure, string>> = {
  "no-tls": "the server does not speak TLS; its URL may begin with http://",
  "self-signed": "its certificate is self-signed",
  "unknown-authority": "its certificate is signed by an unknown authority",
  expired: "its certificate has expired",
  "other-host": "its certificate is for another host",
};

const connectErrorCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const wasNeverSent = (code: string): boolean => connectErrorCodes.has(code) || toTlsFailure(code) !== undefined;

/**
 * Returns the error to throw for a failure in undici or an exceeded limit: InvalidArgumentsError, or a NetworkError
 * with a description.
 */
export function toRequestError(attempt: FailedRequest, error: unknown): Error {
  const { request, proxy, isSent, repeatable } = attempt;
  const { origin, pathname } = new URL(request.url);
  if (isUnsendable(error)) {
    const { message } = error;
    return new InvalidArgumentsError(`${request.method} ${pathname}`, [
      { in: "headers", path: [], message, missing: false },
    ]);
  }
  if (proxy && error instanceof TunnelError) {
    const { status, cause } = error;
    return status === undefined ? createUnreachedError(proxy, cause) : createProxyError(proxy, status, origin, cause);
  }
  const { code, reason } = getReason(error);
  // With a proxy, connections are only made to the proxy.
  if (proxy && connectErrorCodes.has(code)) return createUnreachedError(proxy, error);
  const through = proxy ? ` through the proxy ${proxy.origin}` : "";
  const outcomeUnknown = isSent && !repeatable && !wasNeverSent(code);
  const sizeError = code === "UND_ERR_HEADERS_OVERFLOW" ? headersLimit : error;
  if (sizeError instanceof SizeLimitError) {
    const message = `Failed to read from ${origin}${through}: ${sizeError.message}.`;
    return new ResponseTooLargeError(origin, message, error, outcomeUnknown, sizeError.adjustable);
  }
  const failure =
    isSent && !wasNeverSent(code) ? `Request to ${origin}${through} failed` : `Failed to reach ${origin}${through}`;
  const message = `${failure}: ${reason} (${code}).`;
  return new NetworkError(origin, code, message, error, outcomeUnknown);
}

const headersLimit = new SizeLimitError("its headers are larger than 16 KiB", false);

/** Creates the error for the proxy's own response: 407, which only proxies send, or a rejected tunnel. */
export function createProxyError(proxy: ForwardProxy, status: number, origin: string, cause?: unknown): ProxyError {
  const does =
    status === 407
      ? proxy.authorization === undefined
        ? "requires credentials"
        : "rejected the credentials"
      : `does not connect to ${origin}`;
  return new ProxyError(proxy.origin, "PROXY_REFUSED", `The proxy ${proxy.origin} ${does} (${status}).`, cause, status);
}

function createUnreachedError(proxy: ForwardProxy, cause: unknown): ProxyError {
  const { code, reason } = getReason(cause);
  return new ProxyError(proxy.origin, code, `Failed to reach the proxy ${proxy.origin}: ${reason} (${code}).`, cause);
}

const isUnsendable = (error: unknown): error is Error =>
  /^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)$/.test((error as { code?: string } | null)?.code ?? "");

/** TLS messages have several lines. */
function describeProtocolError(code: string, error: { message?: string }): string {
  const tlsFailure = toTlsFailure(code);
  if (tlsFailure !== undefined) return tlsReasons[tlsFailure];
  // zlib names Brotli errors this way.
  if (code.startsWith("ERR__ERROR_")) return "the compressed response is damaged";
  if (code.startsWith("ERR_SSL_") && error instanceof Error) return `TLS failed: ${getTlsReason(error)}`;
  return error.message || code;
}

function getReason(error: unknown): { code: string; reason: string } {
  const cause = (error ?? {}) as { name?: string; code?: string; message?: string; errors?: { code?: string }[] };
  // Happy eyeballs reports one failure per address.
  const code = cause.code ?? cause.errors?.[0]?.code ?? "UNKNOWN";
  if (cause.name === "HTTPParserError") return { code: cause.code ?? "HPE", reason: "the server does not speak HTTP" };
  return { code, reason: reasonsByCode[code] ?? describeProtocolError(code, cause) };
}

export interface PlannedRetry {
  readonly attempt: number;
  readonly waitMs: number;
  readonly reason: string;
}

export const retriedStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const firstBackoffMs = 500;
const maxBackoffMs = 30_000;

/**
 * Sends a request until a response is final. A request that is not repeatable is only sent again after 429, which means
 * that the service did nothing. The delay has full jitter below a doubling bound; `Retry-After` is its minimum (RFC
 * 9110, 10.2.3). undici's own handler caps `Retry-After` and has no jitter (ARCHITECTURE.md, Written by hand).
 */
export async function withRetries(
  send: () => Promise<HttpResponse>,
  rule: Required<Pick<ClientOptions, "retries" | "maxWaitMs">>,
  wall: WallClock,
  options: {
    signal?: AbortSignal | undefined;
    random?: () => number;
    onRetry?: ((retry: PlannedRetry) => void) | undefined;
    repeatable?: boolean;
  },
): Promise<HttpResponse> {
  const { random = Math.random, repeatable = true } = options;
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await send().catch((error: unknown) => {
      if (repeatable && isTemporary(error) && attempt < rule.retries && !options.signal?.aborted) return error;
      throw error;
    });
    const failed = outcome instanceof NetworkError;
    if (!failed && !(repeatable ? retriedStatuses.has(outcome.status) : outcome.status === 429)) return outcome;

    const retryAfter = failed ? 0 : (parseRetryAfterMs(outcome.headers, wall.now()) ?? 0);
    if (!failed && attempt >= rule.retries) return outcome;
    if (retryAfter > rule.maxWaitMs) throw new RetryAfterTooLongError(retryAfter, rule.maxWaitMs);
    if (!failed) await drain(outcome);

    const backoffMs = random() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt);
    // The wait is never shorter than requested. `Retry-After` is at most maxWaitMs here.
    const waitMs = Math.min(rule.maxWaitMs, Math.round(retryAfter + backoffMs));
    options.onRetry?.({ attempt: attempt + 1, waitMs, reason: failed ? outcome.code : `status ${outcome.status}` });
    await wall.sleep(waitMs, options.signal);
    options.signal?.throwIfAborted();
  }
}

/** Parses the header `Retry-After`, which contains seconds or a date by the service's clock. Returns milliseconds. */
export function parseRetryAfterMs(
  { "retry-after": text, date }: Readonly<Record<string, string>>,
  now: number,
): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1_000;
  const retryAt = Date.parse(text);
  const sentAt = Date.parse(date ?? "");
  return Number.isNaN(retryAt) ? undefined : Math.max(0, retryAt - (Number.isNaN(sentAt) ? now : sentAt));
}

/** An oversized response or a rejection would occur again. A closed client needs no new connection. */
const isTemporary = (error: unknown): error is NetworkError =>
  error instanceof NetworkError &&
  error.code !== "UND_ERR_DESTROYED" &&
  !isCertificateFailure(error.code) &&
  !(error instanceof ResponseTooLargeError) &&
  !(error instanceof ProxyError && error.status !== undefined && error.status < 500);

const maxDrainedBytes = 64 * 1_024;

/** Frees the connection for reuse without reading an endless response. */
async function drain({ body }: HttpResponse): Promise<void> {
  let byteCount = 0;
  try {
    for await (const chunk of body) {
      byteCount += chunk.length;
      if (byteCount > maxDrainedBytes) return;
    }
  } catch {
    // The status is already known, and the request is sent again.
  }
}
