import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, errors } from "undici";
import type { Wall } from "../../src/base/clock.ts";
import { forbiddenAddress, forbiddenUrl, type ReceiverRules } from "../webhooks/receivers.ts";

/** One POST to a receiver. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Breaks it off. */
  readonly signal?: AbortSignal;
}

/** What came of it: an answer of any status, or the reason why there was none. */
export type Posted =
  | { readonly status: number; readonly body: Buffer }
  | { readonly error: { readonly code: string; readonly message: string } };

export interface Outgoing {
  /** Sends once, follows no redirect, and never rejects but when the signal breaks it off. */
  post(request: Post): Promise<Posted>;
  close(): Promise<void>;
}

export interface OutgoingOptions extends ReceiverRules {
  readonly wall: Wall;
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
}

/** So much of an answer's body is read and kept (conformance.md, 10.4). */
export const keptBytes = 65_536;

// More than the runner ever sends at once, so that no attempt waits for a connection.
const connectionsPerReceiver = 64;

/** The sender of webhooks, with connections that are kept open between attempts. */
export function createOutgoing(options: OutgoingOptions): Outgoing {
  const { wall, connectTimeoutMs, responseTimeoutMs } = options;
  const agent = new Agent({
    connections: connectionsPerReceiver,
    pipelining: 1,
    headersTimeout: responseTimeoutMs,
    bodyTimeout: responseTimeoutMs,
    connect: { timeout: connectTimeoutMs, lookup: checkedLookup(options) },
  });

  return {
    async post({ url, headers, body, signal }) {
      const forbidden = forbiddenUrl(url, options);
      if (forbidden) return { error: forbidden };
      const target = new URL(url);
      const deadline = wall.now() + responseTimeoutMs;
      try {
        const answer = await agent.request({
          origin: target.origin,
          path: `${target.pathname}${target.search}`,
          method: "POST",
          headers,
          body,
          ...(signal && { signal }),
        });
        const start = await firstBytes(answer.body, wall, deadline);
        if (start) return { status: answer.statusCode, body: start };
        return { error: slow };
      } catch (error) {
        signal?.throwIfAborted();
        return { error: described(error) };
      }
    },
    close: () => agent.destroy(),
  };
}

const slow = { code: "response_timeout", message: "The receiver did not answer in time." };

type Answer = AsyncIterable<Buffer> & { destroy(): unknown };

/** The beginning of an answer's body; undefined when the answer has not ended by the deadline. */
async function firstBytes(body: Answer, wall: Wall, deadline: number): Promise<Buffer | undefined> {
  const done = new AbortController();
  let late = false;
  void wall.sleep(Math.max(0, deadline - wall.now()), done.signal).then(() => {
    if (done.signal.aborted) return;
    late = true;
    body.destroy();
  });
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      // Leaving the loop ends the connection: a receiver cannot make us read for ever.
      if (size >= keptBytes) break;
    }
  } catch (error) {
    if (!late) throw error;
  } finally {
    done.abort();
  }
  return late ? undefined : Buffer.concat(chunks).subarray(0, keptBytes);
}

/**
 * Resolves a name, judges every address it stands for, and connects to just those: a name cannot mean something else
 * at the check than at the connection. It is not called for literal addresses, which `forbiddenUrl` judges.
 */
function checkedLookup(rules: ReceiverRules): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      // The rules about ports were judged with the URL; here only the host decides.
      const url = new URL(`${rules.strict ? "https" : "http"}://${hostname}`);
      const allow = rules.allow.map((host) => host.replace(/:\d+$/, ""));
      for (const { address } of addresses) {
        const forbidden = forbiddenAddress(address, url, { ...rules, allow });
        if (forbidden) return callback(Object.assign(new Error(forbidden.message), { code: forbidden.code }), "", 0);
      }
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

/** Words for the failures of a connection, by the code that Node or undici gives. */
const words: Readonly<Record<string, readonly [code: string, message: string]>> = {
  UND_ERR_CONNECT_TIMEOUT: ["connect_timeout", "The receiver did not accept a connection in time."],
  UND_ERR_HEADERS_TIMEOUT: [slow.code, slow.message],
  UND_ERR_BODY_TIMEOUT: [slow.code, slow.message],
  ECONNREFUSED: ["connection_refused", "The receiver refused the connection."],
  ECONNRESET: ["connection_reset", "The receiver closed the connection before it had answered."],
  EPIPE: ["connection_reset", "The receiver closed the connection before it had answered."],
  UND_ERR_SOCKET: ["connection_reset", "The receiver closed the connection before it had answered."],
  ENOTFOUND: ["name_not_found", "The receiver's name has no address."],
  EAI_AGAIN: ["name_not_found", "The receiver's name has no address."],
  EHOSTUNREACH: ["unreachable", "The receiver's address cannot be reached."],
  ENETUNREACH: ["unreachable", "The receiver's address cannot be reached."],
};

function described(error: unknown): { code: string; message: string } {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const [name, message] = words[code] ?? [];
  if (name !== undefined && message !== undefined) return { code: name, message };
  const text = error instanceof Error ? error.message : String(error);
  if (code === "address_not_allowed") return { code, message: text };
  if (/CERT|TLS|SSL|SELF_SIGNED|ISSUER|UNABLE_TO/.test(code))
    return { code: "tls_error", message: `${text} (${code})` };
  if (error instanceof errors.HTTPParserError) return { code: "not_http", message: "The answer is not HTTP." };
  return { code: "network_error", message: code ? `${text} (${code})` : text };
}
