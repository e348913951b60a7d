import type { Dispatcher } from "undici";
import apiRequest from "undici/lib/api/api-request.js";
import Agent from "undici/lib/dispatcher/agent.js";
import { lookupTable } from "../base/lookup-table.ts";
import { InvalidArguments, NetworkError } from "./errors.ts";
import type { HttpRequest } from "./request.ts";
import type { HttpResponse } from "./response.ts";

export interface SendOptions {
  /** For the headers, and between two pieces of the body. */
  readonly timeoutMs: number;
  /** Another limit between two pieces of the body; 0: none, for streams that may be silent for long. */
  readonly silenceMs?: number | undefined;
  /** Whether sending it again would change nothing more. */
  readonly repeatable?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Transport {
  send(request: HttpRequest, options: SendOptions): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface TransportOptions {
  /** Another dispatcher of undici, such as one for proxies. */
  readonly dispatcher?: Dispatcher | undefined;
  /** Connections per origin. */
  readonly connections?: number | undefined;
}

/** HTTP through undici: one pool per origin, redirects not followed, every failure a NetworkError. */
export function createTransport(options: TransportOptions = {}): Transport {
  const dispatcher = options.dispatcher ?? new Agent({ connections: options.connections ?? 16 });
  return {
    async send(request, { timeoutMs, silenceMs = timeoutMs, repeatable = false, signal }) {
      const { origin, pathname, search } = new URL(request.url);
      const headers = { "user-agent": "svc-toolkit", ...request.headers };
      try {
        const response = await apiRequest.call(dispatcher, {
          origin,
          path: pathname + search,
          method: request.method,
          headers,
          body: (typeof request.body === "function"
            ? request.body()
            : request.body) as Dispatcher.RequestOptions["body"],
          headersTimeout: timeoutMs,
          bodyTimeout: silenceMs,
          ...(signal ? { signal } : {}),
        });
        return {
          status: response.statusCode,
          headers: joined(response.headers),
          body: chunks(response.body, origin, repeatable, signal),
        };
      } catch (error) {
        if (signal?.aborted) throw error;
        throw isUnsendable(error) ? unsendable(request, error) : networkError(origin, repeatable, error);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

async function* chunks(
  body: AsyncIterable<Uint8Array>,
  origin: string,
  repeatable: boolean,
  signal: AbortSignal | undefined,
) {
  try {
    yield* body;
  } catch (error) {
    throw signal?.aborted ? error : networkError(origin, repeatable, error);
  }
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(", ")]],
    ),
  );
}

/** Such as a header with a line break in it. */
const isUnsendable = (error: unknown): error is Error =>
  (error as { code?: string } | null)?.code === "UND_ERR_INVALID_ARG";

const unsendable = ({ method, url }: HttpRequest, { message }: Error): InvalidArguments =>
  new InvalidArguments(`${method} ${new URL(url).pathname}`, [{ in: "headers", path: [], message, missing: false }]);

const reasons = lookupTable<string>({
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name could not be looked up",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
  UND_ERR_SOCKET: "the connection was cut",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  UND_ERR_HEADERS_TIMEOUT: "no answer in time",
  UND_ERR_BODY_TIMEOUT: "the answer stopped in the middle",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer was cut short",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is signed by an unknown authority",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  CERT_HAS_EXPIRED: "its certificate has expired",
});

/** Certificate failures a corporate proxy causes; NODE_EXTRA_CA_CERTS cures them. */
export const certificateCodes: ReadonlySet<string> = new Set(
  Object.keys(reasons).filter((code) => /CERT|VERIFY|SIGNED/.test(code)),
);

/** No connection was made: nobody can have read the request. */
const neverSent: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  ...certificateCodes,
]);

function networkError(origin: string, repeatable: boolean, error: unknown): NetworkError {
  const cause = error as { code?: string; message?: string; errors?: { code?: string }[] };
  // Happy eyeballs report one failure per address.
  const code = cause.code ?? cause.errors?.[0]?.code ?? "UNKNOWN";
  const reason = reasons[code] ?? cause.message ?? code;
  const mayBeDone = !repeatable && !neverSent.has(code);
  return new NetworkError(origin, code, `Failed to reach ${origin}: ${reason} (${code}).`, error, mayBeDone);
}
