import type { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { errors } from "undici";
import type { WallClock } from "../../../src/base/clock.ts";
import { decodeForDisplay } from "../../../src/base/content-codings.ts";
import { getTlsReason, suggestsTlsServer, type TlsFailure, toTlsFailure } from "../../../src/base/errors.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { maxHeadBytes } from "../../../src/base/response-quirks.ts";
import { DeadlineList } from "../../../src/base/timing.ts";
import { decodeLocation } from "../../../src/base/urls.ts";
import { lookupHost } from "../../../src/files/machine.ts";
import { maxConcurrent } from "../../clock/runner.ts";
import type { Passthrough } from "../reply.ts";
import { createAgent, type ForwardResult, type PendingForward, startForward } from "./dispatch.ts";
import {
  type ForbiddenReason,
  findForbiddenAddressReason,
  findForbiddenUrlReason,
  type ReceiverRules,
} from "./receiver-rules.ts";

interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export type PostResult =
  | { readonly status: number; readonly body: Buffer; readonly location?: string }
  | { readonly error: { readonly code: string; readonly message: string } };

export type WebhookSender = ReturnType<typeof createWebhookSender>;

export interface WebhookSenderOptions extends ReceiverRules {
  readonly wall: WallClock;
  readonly connectTimeoutMs: number;
  /** Maximum time of the whole exchange, from requesting a connection to the end of the response. */
  readonly responseTimeoutMs: number;
  /** Resolver of host names (default: the resolver of the system). */
  readonly lookup?: typeof lookup;
}

/** Thrown if the emulator was closed during the POST. The result is unknown. */
class DeliveryAbortedError extends Error {
  override readonly name = "DeliveryAbortedError";
}

const maxCachedTargets = 10_000;

/** Sends webhooks over connections that stay open between attempts. */
export function createWebhookSender(options: WebhookSenderOptions) {
  const agent = createAgent(
    { timeout: options.connectTimeoutMs, lookup: createCheckedLookup(options, options.lookup ?? lookupHost) },
    // With this number of connections, no attempt waits for a connection. The deadlines limit the whole response, so
    // undici's own timeouts are disabled.
    { connections: maxConcurrent, headersTimeout: 0, bodyTimeout: 0 },
  );
  const deadlines = new DeadlineList<PendingForward>(options.wall, options.responseTimeoutMs, (sending) =>
    sending.abort(new ResponseTimeoutError()),
  );
  const targets = new Map<string, ForbiddenReason | URL>();

  // The rules never change, so each URL is checked once.
  function resolveTarget(url: string): ForbiddenReason | URL {
    const cached = targets.get(url);
    if (cached) return cached;
    const target = findForbiddenUrlReason(url, options) ?? new URL(url);
    if (targets.size >= maxCachedTargets) targets.clear();
    targets.set(url, target);
    return target;
  }

  return {
    /** Returns the reason why nothing may be sent to a URL, or undefined if the URL is allowed. */
    findForbiddenReason(url: string): ForbiddenReason | undefined {
      const target = resolveTarget(url);
      return target instanceof URL ? undefined : target;
    },
    /** Sends a POST once and follows no redirect. Rejects only with DeliveryAbortedError. */
    post({ url, headers, body }: PostRequest): Promise<PostResult> {
      const target = resolveTarget(url);
      if (!(target instanceof URL)) return Promise.resolve({ error: target });
      const { origin, pathname, search } = target;
      const sending = startForward(agent, { origin, path: `${pathname}${search}`, method: "POST", headers, body });
      const remove = deadlines.add(sending);
      return sending.result.then(readPostResponse).then((outcome) => {
        remove();
        if ("status" in outcome) return outcome;
        if (outcome.cause instanceof DeliveryAbortedError) throw outcome.cause;
        return { error: describeResponseFailure(outcome.cause, origin, options) };
      });
    },
    abort() {
      for (const sending of deadlines.clear()) sending.abort(new DeliveryAbortedError());
    },
    async close() {
      deadlines.stop();
      await agent.destroy();
    },
  };
}

/** Maximum size of the part of a response body that is read and stored (DECISIONS.md, P21). */
const maxResponseBodyBytes = 65_536;

type PostOutcome = Extract<PostResult, { readonly status: number }> | { readonly cause: Error };

/**
 * Reads a response up to the stored limit. Closes the connection of a longer response, so that a receiver cannot make
 * the emulator read indefinitely. The first final status is the result, even without a complete body (DECISIONS.md,
 * C20).
 */
export function readPostResponse(result: ForwardResult): Promise<PostOutcome> | PostOutcome {
  if (result.kind === "unreachable") return result;
  const { body } = result.response;
  // Most responses arrive as a whole.
  if (!(body instanceof Uint8Array)) return readPieces(result.response, body);
  const bytes = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, maxResponseBodyBytes));
  return decodeResponse(result.response, bytes);
}

/** Requests accept no content coding, but some receivers compress every response. */
function decodeResponse(response: Passthrough, body: Buffer): PostOutcome {
  const decoded = decodeForDisplay(body, response.findHeader("content-encoding"));
  const { status } = response;
  const header = status >= 300 && status < 400 ? response.findHeader("location") : undefined;
  const location = header && decodeLocation(header);
  return { status, body: decoded.subarray(0, maxResponseBodyBytes), ...(location && { location }) };
}

async function readPieces(response: Passthrough, body: AsyncIterable<Uint8Array>): Promise<PostOutcome> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxResponseBodyBytes) break;
    }
  } catch (error) {
    if (error instanceof DeliveryAbortedError) return { cause: error };
  }
  return decodeResponse(response, Buffer.concat(chunks).subarray(0, maxResponseBodyBytes));
}

/**
 * Creates a lookup that resolves a name, checks all its addresses, and returns only these. The connection therefore
 * cannot use an address that was not checked. `findForbiddenUrlReason` checks literal addresses.
 */
function createCheckedLookup(rules: ReceiverRules, resolve: typeof lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      // The ports were checked with the URL, so only the host is relevant here.
      const url = new URL(`${rules.strict ? "https" : "http"}://${hostname}`);
      const allow = rules.allow.map((host) => host.replace(/:\d+$/, ""));
      for (const { address } of addresses) {
        const reason = findForbiddenAddressReason(address, url, { ...rules, allow });
        if (reason) return callback(Object.assign(new Error(reason.message), { code: reason.code }), "", 0);
      }
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      callback(null, first!.address, first!.family);
    });
  };
}

class ResponseTimeoutError extends Error {}

const connectionClosed = ["connection_reset", "The receiver closed the connection without a response."] as const;
const nameNotFound = ["name_not_found", "The receiver's host name has no address."] as const;
const unreachable = ["unreachable", "The receiver's address cannot be reached."] as const;

/** Messages for connection failures, by error code of Node or undici. */
export const failuresByErrorCode = lookupTable<readonly [code: string, message: string]>({
  ECONNREFUSED: ["connection_refused", "The receiver refused the connection."],
  ECONNRESET: connectionClosed,
  EPIPE: connectionClosed,
  UND_ERR_SOCKET: connectionClosed,
  ENOTFOUND: nameNotFound,
  EAI_AGAIN: nameNotFound,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  UND_ERR_HEADERS_OVERFLOW: ["network_error", `The response's headers are larger than ${maxHeadBytes / 1_024} KiB.`],
  // After a valid head, the status is the result. undici reports this for an invalid head with a length.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ["not_http", "The response is not valid HTTP."],
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: [
    "tls_error",
    "The receiver does not accept HTTP/1.1 over TLS. Enable it in addition to HTTP/2.",
  ],
  // undici asserts that a status is at least 100.
  ERR_ASSERTION: ["not_http", "The response is not valid HTTP."],
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

/** Describes why a POST to that origin got no response. */
function describeResponseFailure(
  error: Error,
  origin: string,
  { connectTimeoutMs, responseTimeoutMs }: Pick<WebhookSenderOptions, "connectTimeoutMs" | "responseTimeoutMs">,
): { readonly code: string; readonly message: string } {
  if (error instanceof ResponseTimeoutError) {
    const message = `The receiver did not respond within ${responseTimeoutMs / 1_000} s.`;
    return { code: "response_timeout", message };
  }
  const code = "code" in error ? String(error.code) : "";
  if (code === "UND_ERR_CONNECT_TIMEOUT") {
    const message = `The receiver did not accept a connection within ${connectTimeoutMs / 1_000} s.`;
    return { code: "connect_timeout", message };
  }
  // undici closes the connection after a 101 itself.
  if (code === "UND_ERR_SOCKET" && error.message === "bad upgrade")
    return {
      code: "not_http",
      message: "The receiver responded 101 (Switching Protocols), which is not a final response.",
    };
  const failure = failuresByErrorCode[code];
  if (failure) {
    const hint = suggestsTlsServer(origin, code) ? " If it speaks TLS, use https:// in the webhook's URL." : "";
    return { code: failure[0], message: `${failure[1]}${hint}` };
  }
  if (code === "address_not_allowed") return { code, message: error.message };
  const tlsFailure = toTlsFailure(code);
  if (tlsFailure !== undefined) return { code: "tls_error", message: tlsMessages[tlsFailure] };
  if (/CERT|TLS|SSL/.test(code)) {
    return { code: "tls_error", message: `TLS with the receiver failed: ${getTlsReason(error)} (${code})` };
  }
  if (error instanceof errors.HTTPParserError) return { code: "not_http", message: "The response is not valid HTTP." };
  return { code: "network_error", message: code ? `${error.message} (${code})` : error.message };
}
