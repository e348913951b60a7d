import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

/** Starts a reverse proxy that responds like common ones when no emulator listens. Resolves with its address. */
async function startReverseProxy(t: TestContext, emulators: readonly TestEmulator[]): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = "GET", headers, url } = request;
    const { authorization = "" } = headers;
    for (const { routerUrl } of emulators) {
      const received = await fetch(routerUrl + url, { method, headers: { authorization } }).catch(() => undefined);
      if (received) return void response.writeHead(received.status).end(await received.text());
    }
    response.writeHead(502, { "content-type": "text/html" }).end("<h1>502 Bad Gateway</h1>");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`;
}

describe("svc emulator stop through a proxy", () => {
  for (const [others, description] of [
    [0, "that has no other emulator"],
    [1, "that forwards to another emulator then"],
  ] as const) {
    it(`ends when the emulator behind a proxy ${description} has ended`, async (t) => {
      const first = await startTestEmulator(t);
      const rest = others === 0 ? [] : [await startTestEmulator(t)];
      const url = await startReverseProxy(t, [first, ...rest]);
      const env = { SVC_EMULATOR_URL: `${url}/_emulator`, SVC_EMULATOR_TOKEN: first.token };
      const { exit, stderr } = await runCli("emulator stop", { cwd: await createTestFolder(t), env });
      assert.deepEqual([exit, stderr], [0, "Stopped\n"]);
      await first.closed;
    });
  }
});
