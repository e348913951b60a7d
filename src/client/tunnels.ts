import type { Dispatcher } from "undici";
import apiConnect from "undici/lib/api/api-connect.js";
import Pool from "undici/lib/dispatcher/pool.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";
import { type ForwardProxy, TunnelFailed } from "./proxy.ts";

/**
 * Sends through tunnels that the proxy opens (CONNECT; RFC 9110, 9.3.6). Loaded where a proxy applies, and nowhere
 * else. undici's entry would give its dispatchers the method `connect`, which ProxyAgent calls; without the entry the
 * pool of connections to the proxy brings it along.
 */
export function tunnelsThrough(proxy: ForwardProxy, timeoutMs: number): Dispatcher {
  const tls = { timeout: timeoutMs };
  return new ProxyAgent({
    uri: proxy.origin,
    ...(proxy.authorization === undefined ? {} : { token: proxy.authorization }),
    requestTls: tls,
    proxyTls: tls,
    clientFactory: (origin, options) => {
      const pool = new Pool(origin, options);
      return Object.assign(pool, {
        connect: (options: Dispatcher.ConnectOptions) =>
          connected(pool, { ...options, headersTimeout: timeoutMs } as Dispatcher.ConnectOptions),
      });
    },
  });
}

/**
 * Throws TunnelFailed, and nothing else: errors of a cut connection are those after which undici tries again, without
 * end where the proxy hangs up each time.
 */
async function connected(pool: Dispatcher, options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
  const answer = await apiConnect.call(pool, options).catch((cause: unknown) => {
    throw new TunnelFailed({ cause });
  });
  if (answer.statusCode === 200) return answer;
  answer.socket.on("error", () => {}).destroy();
  throw new TunnelFailed({ status: answer.statusCode });
}
