import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Finds a port of this machine without a listener. It is below those that systems give to outgoing connections and to
 * `listen(0)` (from 32768 on), so that no other test gets it before the caller's program listens.
 */
export async function findFreePort(): Promise<number> {
  const port = randomInt(16_384, 32_768);
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return findFreePort();
  }
  await new Promise((resolve) => server.close(resolve));
  return port;
}
