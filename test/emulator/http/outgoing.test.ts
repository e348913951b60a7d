import assert from "node:assert/strict";
import type { lookup } from "node:dns";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { createServer as createTls } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import {
  createWebhookSender,
  type PostResult,
  type WebhookSenderOptions,
} from "../../../emulator/http/outgoing/webhook-sender.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { startForwardProxy } from "../../support/cli/forward-proxy.ts";
import { ManualWallClock } from "../../support/clocks/manual-wall-clock.ts";
import { startRawServer } from "../../support/raw-server.ts";
import { startReceiver } from "../../support/receiver.ts";

const limits = {
  connectTimeoutMs: defaultSettings.webhookConnectTimeoutMs,
  responseTimeoutMs: defaultSettings.webhookResponseTimeoutMs,
};

/** Returns the webhook sender with its default limits. The sender is closed when the test ends. */
function createPoster(
  t: TestContext,
  options: Partial<WebhookSenderOptions> = {},
): (url: string) => Promise<PostResult> {
  const outgoing = createWebhookSender({ allow: [], strict: false, wall: systemWallClock, ...limits, ...options });
  t.after(() => outgoing.close());
  return (url) => outgoing.post({ url, headers: {}, body: Buffer.from("{}") });
}

describe("webhook sender", () => {
  it("ignores proxy environment variables because it checks addresses itself", async (t) => {
    const [sink, proxy] = [await startReceiver(t), await startForwardProxy(t)];
    const before = process.env.HTTP_PROXY;
    process.env.HTTP_PROXY = proxy.url;
    t.after(() => {
      if (before === undefined) delete process.env.HTTP_PROXY;
      else process.env.HTTP_PROXY = before;
    });
    const lookedUp = ((_name: string, _options: unknown, callback: (...said: unknown[]) => void) =>
      callback(null, [{ address: "127.0.0.1", family: 4 }])) as unknown as typeof lookup;
    const post = createPoster(t, { lookup: lookedUp, allow: ["service.example"] });
    const result = await post(sink.url.replace("127.0.0.1", "service.example"));
    assert.deepEqual([result, proxy.targets], [{ status: 200, body: Buffer.alloc(0) }, []]);
  });
});

describe("TLS error message of an attempt", () => {
  /** Starts a TLS server with a self-signed certificate. */
  async function tlsServer(t: TestContext, create: typeof createTls = createTls): Promise<string> {
    const read = (name: string) =>
      readFileSync(new URL(`../../../fixtures/tls/self-signed.${name}.pem`, import.meta.url));
    const server = create({ key: read("key"), cert: read("cert") }, (_, response) => response.end());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => void server.close());
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("names the failing side and explains how to trust a certificate", async (t) => {
    const post = createPoster(t);
    const [plain, safe] = [await startReceiver(t), await tlsServer(t)];
    assert.deepEqual(
      [await post(plain.url.replace("http:", "https:")), await post(`http://${safe}/`), await post(`https://${safe}/`)],
      [
        { error: { code: "tls_error", message: "The receiver does not speak TLS. Use http:// in the webhook's URL." } },
        {
          error: {
            code: "connection_reset",
            message:
              "The receiver closed the connection without a response. If it speaks TLS, use https:// in the webhook's URL.",
          },
        },
        {
          error: {
            code: "tls_error",
            message:
              "The receiver's certificate is self-signed. Start the emulator with NODE_EXTRA_CA_CERTS=FILE, the file with that certificate.",
          },
        },
      ],
    );
  });

  it("says that the receiver accepts only HTTP/2", async (t) => {
    const url = `https://${await tlsServer(t, createSecureServer as unknown as typeof createTls)}/`;
    const message = "The receiver does not accept HTTP/1.1 over TLS. Enable it in addition to HTTP/2.";
    assert.deepEqual(await createPoster(t)(url), { error: { code: "tls_error", message } });
  });

  it("is one line if the receiver rejects the connection", async (t) => {
    // TLS handshake that ends with an alert, because the two sides have no common version.
    const alert = Buffer.from([0x15, 3, 3, 0, 2, 2, 70]);
    const refuses = createServer((socket) => void socket.once("data", () => socket.end(alert))).listen(0, "127.0.0.1");
    await once(refuses, "listening");
    t.after(() => void refuses.close());
    const result = await createPoster(t)(`https://127.0.0.1:${(refuses.address() as AddressInfo).port}/`);
    assert.match(
      JSON.stringify(result),
      /^{"error":{"code":"tls_error","message":"TLS with the receiver failed: tlsv1 alert protocol version \(\w+\)"}}$/,
    );
  });
});

it("an attempt states the limit that the headers of the response exceed", async (t) => {
  const { url } = await startRawServer(t, `HTTP/1.1 200 OK\r\nx: ${"a".repeat(65_536)}\r\ncontent-length: 0\r\n\r\n`);
  const message = "The response's headers are larger than 64 KiB.";
  assert.deepEqual(await createPoster(t)(url), { error: { code: "network_error", message } });
});

describe("timeout of a webhook attempt", () => {
  it("is 5 seconds for the connection and 60 for the response", () => {
    assert.deepEqual(limits, { connectTimeoutMs: 5_000, responseTimeoutMs: 60_000 });
  });

  it("permits a response after 59 seconds, but not after 61", async (t) => {
    const wall = new ManualWallClock();
    const post = createPoster(t, { wall });
    const sink = await startReceiver(t);
    let respond = () => {};
    const waitForRequest = () =>
      new Promise<void>((resolve) =>
        sink.respond((_, response) => {
          respond = () => void response.writeHead(200).end("late");
          resolve();
        }),
      );

    const slow = waitForRequest();
    const inTime = post(sink.url);
    await slow;
    await wall.pass(59_000);
    respond();
    assert.deepEqual(await inTime, { status: 200, body: Buffer.from("late") });

    const slower = waitForRequest();
    const late = post(sink.url);
    await slower;
    await wall.pass(61_000);
    const error = { code: "response_timeout", message: "The receiver did not respond within 60 s." };
    assert.deepEqual(await late, { error });
  });

  it("ends an attempt to a receiver that never starts its TLS handshake", async (t) => {
    // The TLS handshake belongs to the connection. Without TLS the kernel connects for any listener.
    const silent = createServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const post = createPoster(t, { connectTimeoutMs: 50 });
    t.after(() => void silent.close());
    assert.deepEqual(await post(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`), {
      error: { code: "connect_timeout", message: "The receiver did not accept a connection within 0.05 s." },
    });
  });
});

describe("host name of a receiver", () => {
  it("is resolved once, and the connection uses the checked address", async (t) => {
    const sink = await startReceiver(t);
    const requests: string[] = [];
    // The check resolves to the first address. A second lookup would return the other one.
    const rebinding = [["127.0.0.1"], ["169.254.169.254"]];
    const lookup = createLookup((name) => {
      requests.push(name);
      return rebinding.shift()!;
    });
    const post = createPoster(t, { allow: ["hooks.example"], lookup });
    const { port } = new URL(sink.url);
    assert.deepEqual(await post(`http://hooks.example:${port}/x`), { status: 200, body: Buffer.alloc(0) });
    assert.deepEqual([requests, sink.received[0]?.headers.host], [["hooks.example"], `hooks.example:${port}`]);
  });

  const cases: readonly (readonly [label: string, options: Partial<WebhookSenderOptions>, addresses: string[]])[] = [
    ["a metadata service despite an allowed host", { allow: ["hooks.example"] }, ["169.254.169.254"]],
    ["this machine under --strict=receivers", { strict: true }, ["127.0.0.1"]],
    ["a private network under --strict=receivers", { strict: true }, ["10.0.0.7"]],
    ["a private address among public ones", { strict: true }, ["93.184.216.34", "fd12::1"]],
  ];
  for (const [label, options, addresses] of cases) {
    it(`is rejected if it resolves to ${label}`, async (t) => {
      const post = createPoster(t, { ...options, lookup: createLookup(() => addresses) });
      const result = await post("https://hooks.example:1/");
      assert.equal("error" in result && result.error.code, "address_not_allowed");
    });
  }

  it("causes a failed attempt if it cannot be resolved", async (t) => {
    const lookupUnknown = (_: string, __: object, callback: (error: Error) => void) =>
      callback(Object.assign(new Error("getaddrinfo ENOTFOUND hooks.example"), { code: "ENOTFOUND" }));
    const post = createPoster(t, { allow: ["hooks.example"], lookup: lookupUnknown as unknown as typeof lookup });
    assert.deepEqual(await post("https://hooks.example/"), {
      error: { code: "name_not_found", message: "The receiver's host name has no address." },
    });
  });
});

/** Returns a lookup function for invented names. */
const createLookup = (addressesOf: (name: string) => readonly string[]): typeof lookup =>
  ((name: string, _: object, callback: (error: null, addresses: { address: string; family: number }[]) => void) =>
    callback(
      null,
      addressesOf(name).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    )) as unknown as typeof lookup;
