import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { startReceiver } from "../../support/receiver.ts";

describe("webhook of a listener", () => {
  /** A service that creates webhook 7 and sends these responses to other requests. */
  async function service(t: TestContext, respond: (method: string, response: ServerResponse) => void) {
    const server = createServer((request, response) => {
      request.resume().on("end", () => respond(request.method ?? "", response));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close().closeAllConnections());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const key = Buffer.alloc(64, 7).toString("base64");
    const env = { SVC_BASE_URL: url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b", SVC_WEBHOOK_HMAC_KEY: key };
    const listen = () => startCommand(runCli, ["webhooks", "listen", "--quiet", "--json", "--retries", "0"], { env });
    return { url, listen };
  }
  const created = (response: ServerResponse) =>
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ id: 7 }));
  const lastLines = (stderr: string) => stderr.split("\n").slice(-3, -1);

  const failures: [label: string, fail: (response: ServerResponse) => void, reason: (url: string) => string][] = [
    [
      "the service rejects the deletion",
      (response) => response.writeHead(503).end(),
      () => "The service failed (HTTP 503)",
    ],
    [
      "the connection breaks",
      (response) => response.destroy(),
      (url) => `Request to ${url} failed: the connection was closed (UND_ERR_SOCKET).`,
    ],
    ["no response arrives", () => {}, (url) => `Request to ${url} failed: no response within 700 ms (ETIMEDOUT).`],
  ];
  for (const [label, fail, reason] of failures) {
    it(`is reported if it cannot be deleted because ${label}`, async (t) => {
      const { url, listen } = await service(t, (method, response) =>
        method === "POST" ? created(response) : fail(response),
      );
      const listening = listen();
      await listening.saw('"ready"');
      listening.signal("SIGINT");
      const { exit, stderr } = await listening.completion;
      assert.deepEqual(
        [exit, lastLines(stderr)],
        [130, [`warning: Webhook 7 was not deleted. ${reason(url)}`, "To delete it: svc webhooks delete 7"]],
      );
    });
  }

  it("is not reported if another user has deleted it", async (t) => {
    const { listen } = await service(t, (method, response) =>
      method === "POST" ? created(response) : response.writeHead(404).end(),
    );
    const listening = listen();
    await listening.saw('"ready"');
    listening.signal("SIGINT");
    const { exit, stderr } = await listening.completion;
    assert.deepEqual([exit, stderr.includes("was not deleted")], [130, false], stderr);
  });

  const urls = (webhooks: readonly { readonly url: string }[]) => webhooks.map(({ url }) => url);
  const createWebhook = (title: string, url: string) =>
    ["webhooks", "create", "--title", title, "--url", url, "--only-for-activities", "CONTRACT_SIGNED"] as const;

  it("remains until each of the counted deliveries has its response", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const app = await startReceiver(t);
    let respond = () => {};
    const firstReceived = new Promise<void>((resolve) =>
      app.respond((_, response) => {
        respond = () => void response.end();
        resolve();
      }),
    );
    const listening = startCommand(svc, ["webhooks", "listen", "--forward-to", app.url, "--count", "2", "--json"]);
    await listening.saw('"ready"');
    const { url } = listening.events()[1] as { url: string };
    const post = async () => (await fetch(url, { method: "POST", body: "{}" })).status;
    const first = post();
    await firstReceived;
    app.respond(204);
    assert.equal(await post(), 204);
    assert.deepEqual(urls(await json("emulator webhooks")), [url]);
    respond();
    assert.deepEqual([await first, (await listening.completion).exit], [200, 0]);
    const deliveries = listening.events().filter(({ type }) => type === "delivery");
    assert.deepEqual(
      deliveries.map(({ number, forwarded }) => [number, (forwarded as { status: number }).status]),
      [
        [2, 204],
        [1, 200],
      ],
    );
  });

  it("is not confused with a later one that has its ID", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--json"]);
    await listening.saw('"ready"');
    assert.equal((await svc("emulator reset --yes")).exit, 0);
    assert.equal((await json(createWebhook("mine", "http://localhost:1/"))).id, 1);
    listening.signal("SIGINT");
    assert.equal((await listening.completion).exit, 130);
    assert.deepEqual(urls(await json("emulator webhooks")), ["http://localhost:1/"]);
  });

  it("does not remove webhooks of a service because the emulator of the folder has stale ones", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await json(createWebhook("svc webhooks listen", "http://127.0.0.1:1/"));
    const deleted: string[] = [];
    const { url } = await service(t, (method, response) => {
      if (method === "POST") created(response);
      else response.writeHead(204).end();
      if (method === "DELETE") deleted.push(response.req.url ?? "");
    });
    const env = { SVC_BASE_URL: url, SVC_ROUTER_URL: url, SVC_CONTRACTS_URL: url };
    const argv = ["webhooks", "listen", "--json", "--public-url", "https://tunnel.example/"];
    const listening = startCommand((words, options) => svc(words, { ...options, env }), argv);
    await listening.saw('"ready"');
    listening.signal("SIGINT");
    await listening.completion;
    assert.deepEqual(deleted, ["/api/v2.1/public/webhooks/7"]);
    assert.deepEqual(urls(await json("emulator webhooks")), ["http://127.0.0.1:1/"]);
  });
});
