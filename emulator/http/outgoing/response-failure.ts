import { errors } from "undici";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import { mayExpectTls, type TlsFailure, tlsReason, toTlsFailure } from "../../../src/base/tls-failure.ts";

/** The time for an answer is over. */
export class ResponseTimeoutError extends Error {}

const closed = ["connection_reset", "The receiver closed the connection without a response."] as const;
const nameless = ["name_not_found", "The receiver's host name has no address."] as const;
const unreachable = ["unreachable", "The receiver's address cannot be reached."] as const;

/** Words for the failures of a connection, by the code that Node or undici gives. */
const words = lookupTable<readonly [code: string, message: string]>({
  ECONNREFUSED: ["connection_refused", "The receiver refused the connection."],
  ECONNRESET: closed,
  EPIPE: closed,
  UND_ERR_SOCKET: closed,
  ENOTFOUND: nameless,
  EAI_AGAIN: nameless,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
});

/** Node reads that variable once, as it starts. */
const trustIt = "Start the emulator with NODE_EXTRA_CA_CERTS=FILE";

const ofTls: Readonly<Record<TlsFailure, string>> = {
  "no-tls": "The receiver does not speak TLS. Use http:// in the webhook's URL.",
  "self-signed": `The receiver's certificate is self-signed. ${trustIt}, the file with that certificate.`,
  "unknown-authority": `The receiver's certificate is signed by an unknown authority. ${trustIt}, the file with the authority's certificate.`,
  expired: "The receiver's certificate has expired. Renew it.",
  "other-host": "The receiver's certificate is for another host. Use the host of the certificate in the webhook's URL.",
};

/** How long a receiver may take, in milliseconds. */
interface Limits {
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
}

/** What kept a POST to that origin from being answered. */
export function describeResponseFailure(
  error: unknown,
  origin: string,
  { connectTimeoutMs, responseTimeoutMs }: Limits,
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
  const [name, message] = words[code] ?? [];
  if (name !== undefined && message !== undefined) {
    return {
      code: name,
      message: mayExpectTls(origin, code) ? `${message} If it speaks TLS, use https:// in the webhook's URL.` : message,
    };
  }
  const text = error instanceof Error ? error.message : String(error);
  if (code === "address_not_allowed") return { code, message: text };
  const trouble = toTlsFailure(code);
  if (trouble !== undefined) return { code: "tls_error", message: ofTls[trouble] };
  if (error instanceof Error && /CERT|TLS|SSL/.test(code)) {
    return { code: "tls_error", message: `TLS with the receiver failed: ${tlsReason(error)} (${code})` };
  }
  if (error instanceof errors.HTTPParserError) return { code: "not_http", message: "The response is not HTTP." };
  return { code: "network_error", message: code ? `${text} (${code})` : text };
}
