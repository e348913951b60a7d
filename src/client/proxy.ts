import type { Dispatcher } from "undici";
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";

const local = "localhost,127.0.0.1,::1";

/** Sends through the proxies that the environment names; never to this machine itself. */
export function proxyDispatcher(env: Readonly<Record<string, string | undefined>>): Dispatcher {
  const httpProxy = env.http_proxy || env.HTTP_PROXY;
  const httpsProxy = env.https_proxy || env.HTTPS_PROXY;
  const noProxy = env.no_proxy || env.NO_PROXY;
  return new EnvHttpProxyAgent({
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    noProxy: noProxy ? `${noProxy},${local}` : local,
  });
}
