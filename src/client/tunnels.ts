import { type Dispatcher, Pool, ProxyAgent } from "undici";
import { type ForwardProxy, TunnelError } from "./proxy.ts";

/** Sends requests through tunnels of the proxy (CONNECT; RFC 9110, 9.3.6). Only loaded if there is a proxy. */
export function createTunnelDispatcher(proxy: ForwardProxy, timeoutMs: number): Dispatcher {
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
 * Throws only TunnelError: after the error of a closed connection undici tries again, endlessly if the proxy always
 * closes it.
 */
async function awaitConnect(connecting: Promise<Dispatcher.ConnectData>): Promise<Dispatcher.ConnectData> {
  const answer = await connecting.catch((cause: unknown) => {
    throw new TunnelError({ cause });
  });
  if (answer.statusCode === 200) return answer;
  answer.socket.on("error", () => {}).destroy();
  throw new TunnelError({ status: answer.statusCode });
}
