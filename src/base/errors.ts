import { lookupTable } from "./object.ts";

/**
 * Error that only a bug in the emulator can cause. The emulator responds with 500 and the name of the operation, if
 * known.
 */
export class EmulatorBugError extends Error {
  override readonly name = "EmulatorBugError";
  readonly operation: string | undefined;

  constructor(message: string, options: { readonly operation?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.operation = options.operation;
  }
}

/**
 * Error that is thrown as a response and does not indicate a bug. It has no stack, because a stack takes up to a
 * quarter of the time of a rejected look-up.
 */
export class StacklessError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    // An assignment would throw if built-in objects are frozen (`node --frozen-intrinsics`).
    Reflect.set(Error, "stackTraceLimit", 0);
    super(message);
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

export type TlsFailure = "no-tls" | "self-signed" | "unknown-authority" | "expired" | "other-host";

/**
 * TLS failures by Node.js error code. OpenSSL reads the response of a server without TLS as a record of another version
 * or as a record that is too long.
 */
const tlsFailuresByCode = lookupTable<TlsFailure>({
  EPROTO: "no-tls",
  ERR_SSL_WRONG_VERSION_NUMBER: "no-tls",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "no-tls",
  ERR_SSL_UNKNOWN_PROTOCOL: "no-tls",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "unknown-authority",
  UNABLE_TO_GET_ISSUER_CERT: "unknown-authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unknown-authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "unknown-authority",
  CERT_HAS_EXPIRED: "expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "other-host",
});

export const toTlsFailure = (code: string): TlsFailure | undefined => tlsFailuresByCode[code];

/** Reports whether the server's certificate was rejected. Another attempt would have the same result. */
export function isCertificateFailure(code: string): boolean {
  const failure = toTlsFailure(code);
  return failure !== undefined && failure !== "no-tls";
}

const disconnectCodes: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Reports whether a failed request without TLS can have reached a TLS server. Such a server closes the connection or
 * responds with 400.
 */
export const suggestsTlsServer = (url: string, code: string): boolean =>
  url.startsWith("http:") && disconnectCodes.has(code);

/**
 * Returns OpenSSL's reason, which is the last part of a message. The message starts with threads, files and lines of
 * OpenSSL.
 */
export function getTlsReason(error: Error): string {
  const { reason } = error as { reason?: unknown };
  return typeof reason === "string" && reason !== "" ? reason : error.message.trim();
}
