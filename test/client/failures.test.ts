import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { createClient, ServiceError } from "../../src/client/index.ts";
import { startTestEmulator } from "../support/emulator.ts";

/** The output of a test runner for a failed call. A stack begins with name and message. */
async function formatRejection(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => assert.fail("It did not fail"),
    (cause: Error) => cause,
  );
  assert.ok(error.stack?.startsWith(`${error.name}: ${error.message}\n`), error.stack);
  return `${error.name}: ${error.message}`;
}

describe("output of a failed call in a test runner", () => {
  it("names the rejected call and the reason, without secrets in the path", async (t) => {
    const { clusters, routerUrl, token } = await startTestEmulator(t);
    const [{ url, clientId, clientSecret }] = clusters as [(typeof clusters)[number]];
    const client = createClient({
      baseUrls: { router: routerUrl, contracts: url, emulator: routerUrl },
      credentials: { clientId, clientSecret, controlToken: token },
    });
    t.after(() => client.close());
    assert.deepEqual(
      await Promise.all([
        formatRejection(client.call("contracts.status", { params: { composite_id: "T-9" } })),
        formatRejection(client.call("invitations.accept", { params: { token: "s3cr3t" } })),
        formatRejection(client.call("snapshots.restore", { params: { name: "gone" } })),
      ]),
      [
        "ServiceError: contracts.status: 404 Not found. (GET /api/v2.1/public/contracts/T-9/status)",
        "ServiceError: invitations.accept: 404 Invitation not found for this token. (POST /_emulator/invitations/by_token/[redacted]/accept)",
        "ServiceError: snapshots.restore: 404 Snapshot gone not found. Known: none. (POST /_emulator/snapshots/gone/restore)",
      ],
    );
    await assert.rejects(client.call("contracts.status", { params: { composite_id: "T-9" } }), (error) => {
      assert.ok(error instanceof ServiceError);
      const { operation, method, path, status, problem } = error;
      assert.deepEqual(
        [operation, method, path, status, problem.message],
        ["contracts.status", "GET", "/api/v2.1/public/contracts/T-9/status", 404, "Not found."],
      );
      return true;
    });
  });

  it("names the call whose response was too large, and the option for the limit", async (t) => {
    const startClient = (listener: RequestListener, options?: object) => startClientOf(t, listener, options);
    const large = (_: unknown, response: { end(text: string): void }) =>
      response.end(`{"database":"${"x".repeat(99)}"}`);
    const calls: readonly [options: object, listener: RequestListener, expected: RegExp][] = [
      [
        {},
        (request) => void request.socket.destroy(),
        /^NetworkError: health\.show: Request to http:\S+ failed: the connection was closed \(\w+\)\.$/,
      ],
      [
        { timeoutMs: 50 },
        () => {},
        /^NetworkError: health\.show: Request to \S+ failed: no response within 50 ms \(ETIMEDOUT\)\. Increase timeoutMs\.$/,
      ],
      [
        { maxResponseBytes: 9 },
        large,
        /^ResponseTooLargeError: health\.show: Failed to read .* Increase maxResponseBytes\.$/,
      ],
      [
        {},
        (_, response) => void response.end("<html>"),
        /^InvalidResponseError: health\.show: Expected JSON, but the service responded 200 with HTML\.$/,
      ],
      [
        { retries: 1, maxWaitMs: 100 },
        (_, response) => void response.writeHead(429, { "retry-after": "7" }).end(),
        /^RetryAfterTooLongError: health\.show: The service requests a wait of 7 s, but the maximum is 100 ms\. Increase maxWaitMs\.$/,
      ],
    ];
    for (const [options, listener, expected] of calls) {
      const client = await startClient(listener, { retries: 0, ...options });
      assert.match(await formatRejection(client.call("health.show")), expected);
    }
  });

  it("names the call without credentials and the options that set them", async (t) => {
    const client = await startClientOf(t, () => {}, { credentials: { clientId: "id-1" } });
    assert.deepEqual(
      await Promise.all([
        formatRejection(client.call("contracts.status", { params: { composite_id: "T-9" } })),
        formatRejection(client.call("clock.show")),
      ]),
      [
        "MissingCredentialsError: contracts.status: This request requires api-key credentials: the client secret is missing. Pass credentials.clientId and credentials.clientSecret to createClient.",
        "MissingCredentialsError: clock.show: This request requires control-token credentials. Pass credentials.controlToken to createClient.",
      ],
    );
  });

  it("names the interrupted stream", async (t) => {
    const client = await startClientOf(t, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: nonsense\n\n");
    });
    const events = await client.call("events.watch");
    const read = async () => {
      for await (const _ of events as AsyncIterable<unknown>);
    };
    assert.equal(
      await formatRejection(read()),
      "InvalidResponseError: events.watch: The service sent an event that is not JSON.",
    );
  });

  it("rejects later and pending calls when the client closes", async (t) => {
    const client = await startClientOf(t, () => {}, { retries: 3 });
    const underWay = formatRejection(client.call("health.show"));
    // The request is being sent.
    await new Promise((resolve) => setImmediate(resolve));
    await client.close();
    const closed = "Error: health.show: the client is closed. Send requests before client.close()";
    assert.deepEqual([await underWay, await formatRejection(client.call("health.show"))], [closed, closed]);
  });
});

/** A client of services that all respond this way. */
async function startClientOf(t: TestContext, listener: RequestListener, options: object = {}) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const baseUrls = { router: url, contracts: url, emulator: url };
  const client = createClient({ baseUrls, credentials: { controlToken: "c" }, ...options });
  t.after(() => {
    void client.close();
    server.closeAllConnections();
    server.close();
  });
  return client;
}
