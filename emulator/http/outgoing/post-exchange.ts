import { type Dispatcher, errors } from "undici";
import { getTlsReason, suggestsTlsServer, type TlsFailure, toTlsFailure } from "../../../src/base/errors.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { hasNoBody } from "../../../src/base/response-quirks.ts";

/** Maximum size of the part of a response body that is read and stored (DECISIONS.md, P21). */
export const maxResponseBodyBytes = 65_536;

/** Maximum size of a response head, which is four times Node's default because other clients are less strict. */
export const maxHeadBytes = 65_536;

/** Result of a POST: a response of any status, or the reason for a missing response. */
export type PostOutcome = { readonly status: number; readonly body: Buffer } | { readonly cause: unknown };

/**
 * One POST, which receives the callbacks of undici. It uses no stream and stops reading at the stored limit. The
 * callbacks are those of undici 7, because its newer callbacks parse all headers. undici 8 supports only the newer
 * callbacks and requires Node 22.
 */
export class PostExchange implements Dispatcher.DispatchHandler {
  readonly #settle: (outcome: PostOutcome) => void;
  #abort: ((cause: Error) => void) | undefined;
  #status = 0;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #hasEnded = false;

  /** Creates an exchange that calls `settle` once. */
  constructor(settle: (outcome: PostOutcome) => void) {
    this.#settle = settle;
  }

  /** Ends the POST with that cause. Does nothing if the POST has ended. */
  abort(cause: Error): void {
    this.#end({ cause });
    this.#abort?.(cause);
  }

  /** Ends the POST with the response so far, or with that cause if no status has arrived. */
  timeOut(cause: Error): void {
    this.#endWithResponseOr(cause);
    this.#abort?.(cause);
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    // The POST was aborted while it waited for a connection.
    if (this.#hasEnded) abort(new Error("the caller has stopped waiting"));
  }

  onHeaders(status: number): boolean {
    // An informational response precedes the final response, which overwrites the status.
    this.#status = status;
    // undici rejects a length or bytes after a 204 as an invalid response.
    if (hasNoBody(status)) this.#endWithResponse();
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size >= maxResponseBodyBytes) {
      this.#endWithResponse();
      // The connection is closed, so that a receiver cannot make the emulator read indefinitely.
      this.#abort?.(new Error("enough was read"));
    }
    return true;
  }

  onComplete(): void {
    this.#endWithResponse();
  }

  onError(cause: Error): void {
    this.#endWithResponseOr(cause);
  }

  /** The first final status is the result of the POST, even without a valid body (DECISIONS.md, C20). */
  #endWithResponseOr(cause: Error): void {
    if (this.#status >= 200) this.#endWithResponse();
    else this.#end({ cause });
  }

  #endWithResponse(): void {
    const [firstChunk] = this.#chunks;
    const body = firstChunk && this.#chunks.length === 1 ? firstChunk : Buffer.concat(this.#chunks);
    this.#end({ status: this.#status, body: body.subarray(0, maxResponseBodyBytes) });
  }

  #end(outcome: PostOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#settle(outcome);
  }
}

/** The response timed out. */
export class ResponseTimeoutError extends Error {}

const connectionClosed = ["connection_reset", "The receiver closed the connection without a response."] as const;
const nameNotFound = ["name_not_found", "The receiver's host name has no address."] as const;
const unreachable = ["unreachable", "The receiver's address cannot be reached."] as const;

/** Messages for connection failures, by error code of Node or undici. */
const failuresByErrorCode = lookupTable<readonly [code: string, message: string]>({
  ECONNREFUSED: ["connection_refused", "The receiver refused the connection."],
  ECONNRESET: connectionClosed,
  EPIPE: connectionClosed,
  UND_ERR_SOCKET: connectionClosed,
  ENOTFOUND: nameNotFound,
  EAI_AGAIN: nameNotFound,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
});

/** Node reads this variable only at startup. */
const trustHint = "Start the emulator with NODE_EXTRA_CA_CERTS=FILE";

const tlsMessages: Readonly<Record<TlsFailure, string>> = {
  "no-tls": "The receiver does not speak TLS. Use http:// in the webhook's URL.",
  "self-signed": `The receiver's certificate is self-signed. ${trustHint}, the file with that certificate.`,
  "unknown-authority": `The receiver's certificate is signed by an unknown authority. ${trustHint}, the file with the authority's certificate.`,
  expired: "The receiver's certificate has expired. Renew it.",
  "other-host": "The receiver's certificate is for another host. Use the host of the certificate in the webhook's URL.",
};

/** Limits for a receiver, in milliseconds. */
interface ReceiverLimits {
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
}

/** Describes why a POST to that origin got no response. */
export function describeResponseFailure(
  error: unknown,
  origin: string,
  { connectTimeoutMs, responseTimeoutMs }: ReceiverLimits,
): { readonly code: string; readonly message: string } {
  if (error instanceof ResponseTimeoutError) {
    const message = `The receiver did not respond within ${responseTimeoutMs / 1_000} s.`;
    return { code: "response_timeout", message };
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "UND_ERR_CONNECT_TIMEOUT") {
    const message = `The receiver did not accept a connection within ${connectTimeoutMs / 1_000} s.`;
    return { code: "connect_timeout", message };
  }
  const [name, message] = failuresByErrorCode[code] ?? [];
  if (name !== undefined && message !== undefined) {
    return {
      code: name,
      message: suggestsTlsServer(origin, code)
        ? `${message} If it speaks TLS, use https:// in the webhook's URL.`
        : message,
    };
  }
  const text = error instanceof Error ? error.message : String(error);
  if (code === "address_not_allowed") return { code, message: text };
  const failure = toTlsFailure(code);
  if (failure !== undefined) return { code: "tls_error", message: tlsMessages[failure] };
  if (error instanceof Error && /CERT|TLS|SSL/.test(code)) {
    return { code: "tls_error", message: `TLS with the receiver failed: ${getTlsReason(error)} (${code})` };
  }
  if (error instanceof errors.HTTPParserError) return { code: "not_http", message: "The response is not HTTP." };
  return { code: "network_error", message: code ? `${text} (${code})` : text };
}
