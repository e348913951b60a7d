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
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => open.delete(one));
    }
    return undefined;
  });
  const cut = () => {
    to = undefined;
    for (const socket of open) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    cut();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    lead(address: string): void {
      to = address;
    },
  };
}
