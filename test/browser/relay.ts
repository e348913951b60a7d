import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

/**
 * Starts a relay whose address leads to a server. The relay can be cut, and then connected to the same or another
 * server.
 */
export async function startRelay(t: Pick<TestContext, "after">, address: string) {
  let to: string | undefined = address;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    if (to === undefined) return near.destroy();
    const { hostname, port } = new URL(to);
    const far = connect(Number(port), hostname);
    for (const [source, target] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(source);
      source.pipe(target);
      source.on("error", () => target.destroy());
      source.on("close", () => open.delete(source));
    }
    return undefined;
  });
  const cutConnections = () => {
    to = undefined;
    for (const socket of open) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    cutConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: cutConnections,
    lead(address: string): void {
      to = address;
    },
  };
}
