import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/**
 * Starts a TLS service with a self-signed certificate, under a name that only a test's proxy resolves. Every request
 * succeeds. The service is closed when the test ends.
 */
export async function startTlsService(t: Pick<TestContext, "after">): Promise<string> {
  const read = (name: string) => readFileSync(new URL(`../../../fixtures/tls/service.${name}.pem`, import.meta.url));
  const server = createServer({ key: read("key"), cert: read("cert") }, (_, response) =>
    response.end('{"database":true}'),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://service.example:${(server.address() as AddressInfo).port}`;
}
