import { Agent, buildConnector, type Dispatcher, errors, Pool, ProxyAgent } from "undici";
import { systemWallClock, type WallClock } from "../base/clock.ts";
import { createContinueSkippingConnector } from "../base/response-quirks.ts";
import { decodeResponse } from "./body.ts";
import { mapStreamErrors } from "./errors.ts";
import { Exchange, type ExchangeOptions } from "./exchange.ts";
import { resolveMaxBytes } from "./limits.ts";
import { createProxyError, type ForwardProxy, TunnelError, toRequestError } from "./network-failure.ts";
import type { HttpRequest, HttpResponse } from "./request.ts";

interface SendOptions extends Pick<ExchangeOptions, "timeoutMs" | "silenceMs" | "signal"> {
  /** Chooses how to read a response with this status. By default, every response is read into memory. */
  readonly chooseReadMode?: ExchangeOptions["chooseReadMode"] | undefined;
  readonly repeatable?: boolean | undefined;
}

export interface Transport {
  send(request: HttpRequest, options: SendOptions): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface TransportOptions {
  /** Finds the proxy for a URL; undefined is a direct connection. By default, all connections are direct. */
  readonly findProxy?: ((url: URL) => ForwardProxy | undefined) | undefined;
  readonly connections?: number | undefined;
  /** Options of direct connections, such as a resolver of host names. */
  readonly connect?: buildConnector.BuildOptions;
  /** Time limit for a connection and for the tunnel of a proxy, at most ten seconds. */
  readonly connectTimeoutMs?: number | undefined;
  /** Maximum size of a response. Defaults are in src/client/limits.ts. */
  readonly maxResponseBytes?: number | undefined;
  readonly wall?: WallClock | undefined;
}

const maxConnectMs = 10_000;

/** Without it, undici creates an error per connection. Node formats the stack of each, also if no request is open. */
const closedError = new errors.ClientDestroyedError();

/**
 * Sends HTTP through undici: per origin a pool and the connections of streams, no redirects. Every failure is a
 * NetworkError.
 */
export function createTransport(options: TransportOptions = {}): Transport {
  const { findProxy, connections = 16, maxResponseBytes, wall = systemWallClock } = options;
  const connectTimeoutMs = Math.min(maxConnectMs, options.connectTimeoutMs ?? maxConnectMs);
  const connect = createContinueSkippingConnector(buildConnector({ ...options.connect, timeout: connectTimeoutMs }));
  const wholeAgent = new Agent({ connections, connect });
  // A caller can leave a stream open or unread. Other requests do not wait for its connection.
  const streamAgent = new Agent({ connect });
  const tunnels = new Map<string, Dispatcher>();

  /** Returns the dispatcher of a request, with the headers that it adds. */
  function resolveRoute(url: URL, proxy: ForwardProxy | undefined, isStream: boolean) {
    const directAgent = isStream ? streamAgent : wholeAgent;
    const { origin, host, pathname, search } = url;
    const path = pathname + search;
    if (!proxy) return { dispatcher: directAgent, origin, path, headers: {} };
    // An HTTP proxy gets absolute URLs (RFC 9112, 3.2.2). Tunnels are only used for HTTPS, because many proxies reject
    // tunnels to other ports.
    if (url.protocol === "http:" && proxy.origin.startsWith("http:")) {
      const { authorization } = proxy;
      const headers = { host, ...(authorization === undefined ? {} : { "proxy-authorization": authorization }) };
      return { dispatcher: directAgent, origin: proxy.origin, path: origin + path, headers };
    }
    const dispatcher = tunnels.get(proxy.origin) ?? createTunnelDispatcher(proxy, connectTimeoutMs);
    tunnels.set(proxy.origin, dispatcher);
    return { dispatcher, origin, path, headers: {} };
  }

  return {
    async send(request, { timeoutMs, silenceMs, chooseReadMode = () => "whole", repeatable = false, signal }) {
      const url = new URL(request.url);
      const proxy = findProxy?.(url);
      const { dispatcher, origin, path, headers } = resolveRoute(url, proxy, chooseReadMode(200) !== "whole");
      signal?.throwIfAborted();
      const exchange = new Exchange({ wall, timeoutMs, silenceMs, maxBytes: maxResponseBytes, chooseReadMode, signal });
      const body = watchBody(request.body);
      const toFailure = (error: unknown) =>
        signal?.aborted
          ? error
          : (body.failure ?? toRequestError({ request, repeatable, proxy, isSent: exchange.isSent }, error));
      dispatcher.dispatch(
        {
          origin,
          path,
          method: request.method,
          headers: { "user-agent": "svc-toolkit", ...headers, ...request.headers },
          body: body.content as Dispatcher.DispatchOptions["body"],
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        exchange,
      );
      const response = await exchange.response.catch((error: unknown) => {
        throw toFailure(error);
      });
      if (proxy && response.status === 407) {
        exchange.abort();
        throw createProxyError(proxy, 407, url.origin);
      }
      const maxBytes = resolveMaxBytes(chooseReadMode(response.status), maxResponseBytes);
      const decodedResponse = decodeResponse(response, request.method, maxBytes);
      return { ...decodedResponse, body: mapStreamErrors(decodedResponse.body, toFailure) };
    },
    async close() {
      await Promise.all(
        [wholeAgent, streamAgent, ...tunnels.values()].map((dispatcher) => dispatcher.destroy(closedError)),
      );
    },
  };
}

/** Watches the content of a request. `failure` is the error of reading the content, which is not a network error. */
function watchBody(body: HttpRequest["body"]): { readonly content: unknown; readonly failure: unknown } {
  if (body === undefined || typeof body === "string" || ArrayBuffer.isView(body))
    return { content: body, failure: undefined };
  const state = { content: undefined as unknown, failure: undefined as unknown };
  state.content = (async function* () {
    try {
      yield* typeof body === "function" ? body() : body;
    } catch (error) {
      state.failure = error;
      throw error;
    }
  })();
  return state;
}

function createTunnelDispatcher(proxy: ForwardProxy, timeoutMs: number): Dispatcher {
  const tls = { timeout: timeoutMs };
  return new ProxyAgent({
    uri: proxy.origin,
    ...(proxy.authorization === undefined ? {} : { token: proxy.authorization }),
    requestTls: tls,
    proxyTls: tls,
    clientFactory: (origin, options) => {
      const pool = new Pool(origin, options);
      const connect = pool.connect.bind(pool) as (
        options: Dispatcher.ConnectOptions,
      ) => Promise<Dispatcher.ConnectData>;
      return Object.assign(pool, {
        connect: (options: Dispatcher.ConnectOptions) =>
          awaitConnect(connect({ ...options, headersTimeout: timeoutMs } as Dispatcher.ConnectOptions)),
      });
    },
  });
}

/**
 * Throws only TunnelError. After the error of a closed connection, undici tries again, endlessly if the proxy always
 * closes the connection.
 */
async function awaitConnect(connecting: Promise<Dispatcher.ConnectData>): Promise<Dispatcher.ConnectData> {
  const response = await connecting.catch((cause: unknown) => {
    throw new TunnelError({ cause });
  });
  if (response.statusCode === 200) return response;
  response.socket.on("error", () => {}).destroy();
  throw new TunnelError({ status: response.statusCode });
}
