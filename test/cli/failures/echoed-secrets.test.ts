import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../../support/cli/run-cli.ts";
import { startReceiver } from "../../support/receiver.ts";

const secret = "creator-northwind";

describe("secret in a request path", () => {
  for (const flags of ["--verbose", "--debug", "--json", "--json --debug"]) {
    it(`is hidden on standard error with ${flags}, even if the service echoes the secret`, async (t) => {
      const service = await startReceiver(t);
      service.respond(({ url }, response) => {
        const detail = `No invite ${secret} at ${url}`;
        response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
      });
      const line = `invites contract creator ${secret} --base-url ${service.url} ${flags}`;
      const { exit, stdout, stderr } = await runCli(line);
      assert.deepEqual([exit, stdout], [5, ""]);
      assert.ok(service.received[0]?.url.endsWith(`/by_token/${secret}`));
      assert.match(stderr, /No invite \[hidden\] at /);
      assert.equal(stderr.includes(secret), false, stderr);
    });
  }
});
