import type { lookup } from "node:dns";
import type { TestContext } from "node:test";
import { Server } from "proxy-chain";

export interface ForwardProxy {
  /** URL of the proxy, without credentials. */
  readonly url: string;
  readonly port: number;
  /** Forwarded requests, such as `GET http://service.example:1234/path` or `CONNECT service.example:1234`. */
  readonly targets: readonly string[];
}

/** Resolves every name to this machine, so that only the proxy can reach the hosts. */
const loopback = ((_name: string, options: { all?: boolean }, callback: (...args: unknown[]) => void) =>
  options.all
    ? callback(null, [{ address: "127.0.0.1", family: 4 }])
    : callback(null, "127.0.0.1", 4)) as unknown as typeof lookup;

/**
 * Starts a real forward proxy that resolves its own hosts. With `password`, it accepts only the user `ann` with this
 * password.
 */
export async function startForwardProxy(t: Pick<TestContext, "after">, password?: string): Promise<ForwardProxy> {
  const targets: string[] = [];
  const server = new Server({
    port: 0,
    host: "127.0.0.1",
    prepareRequestFunction: ({ request, username, password: receivedPassword }) => {
      targets.push(`${request.method} ${request.url}`);
      const isKnown = password === undefined || (username === "ann" && receivedPassword === password);
      return { requestAuthentication: !isKnown, dnsLookup: loopback };
    },
  });
  await server.listen();
  t.after(() => server.close(true));
  return { url: `http://127.0.0.1:${server.port}`, port: server.port, targets };
}
