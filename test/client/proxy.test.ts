import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { NetworkError, ProxyError } from "../../src/client/errors.ts";
import { readBodyText } from "../../src/client/response.ts";
import { createTransport } from "../../src/client/transport.ts";
import { startForwardProxy } from "../support/cli/forward-proxy.ts";
import { startTlsService } from "../support/cli/tls-service.ts";
import { startReceiver } from "../support/receiver.ts";

const createBasicAuthorization = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/** The result of a GET through the proxy: status and text, or the error. */
async function sendThroughProxy(t: TestContext, url: string, origin: string, authorization?: string) {
  const transport = createTransport({ findProxy: () => ({ origin, authorization }), connectTimeoutMs: 700 });
  t.after(() => transport.close());
  const request = { method: "GET", url, headers: {}, body: undefined } as const;
  try {
    const { status, body } = await transport.send(request, { timeoutMs: 700, repeatable: true });
    return [status, await readBodyText(body)];
  } catch (error) {
    assert.ok(error instanceof NetworkError, String(error));
    const { name, origin: at, code, message, outcomeUnknown } = error;
    return { name, at, code, message, outcomeUnknown, status: error instanceof ProxyError ? error.status : undefined };
  }
}

/** A service with a host name that only the proxy resolves. */
async function startService(t: TestContext) {
  const real = await startReceiver(t);
  real.respond((_, response) => response.end("well"));
  return { ...real, url: `${real.url.replace("127.0.0.1", "service.example")}/a?b=c` };
}

/** A proxy with scripted handling of connections. */
async function startSocketServer(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}));
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("request through a proxy", () => {
  it("sends absolute URLs for http services, and credentials only to the proxy", async (t) => {
    const [proxy, { url, received }] = [await startForwardProxy(t, "secret"), await startService(t)];
    assert.deepEqual(await sendThroughProxy(t, url, proxy.url, createBasicAuthorization("ann", "secret")), [
      200,
      "well",
    ]);
    assert.deepEqual(proxy.targets, [`GET ${url}`]);
    assert.deepEqual(
      received.map(({ url: path, headers }) => [path, headers.host, headers["proxy-authorization"]]),
      [["/a?b=c", new URL(url).host, undefined]],
    );
  });

  it("opens a tunnel to an https service and verifies its certificate", async (t) => {
    const [proxy, url] = [await startForwardProxy(t), await startTlsService(t)];
    assert.deepEqual(await sendThroughProxy(t, url, proxy.url), {
      name: "NetworkError",
      at: url,
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
      message: `Failed to reach ${url} through the proxy ${proxy.url}: its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).`,
      outcomeUnknown: false,
      status: undefined,
    });
    assert.deepEqual(proxy.targets, [`CONNECT ${new URL(url).host}`]);
  });

  for (const [label, authorization, does] of [
    ["requires credentials", undefined, "requires credentials"],
    ["rejects the credentials", createBasicAuthorization("ann", "wrong"), "rejected the credentials"],
  ] as const) {
    it(`rejects the request if the proxy ${label}, without contacting the service`, async (t) => {
      const [proxy, { url, received }] = [await startForwardProxy(t, "secret"), await startService(t)];
      for (const target of [url, url.replace("http:", "https:")]) {
        assert.deepEqual(await sendThroughProxy(t, target, proxy.url, authorization), {
          name: "ProxyError",
          at: proxy.url,
          code: "PROXY_REFUSED",
          message: `The proxy ${proxy.url} ${does} (407).`,
          outcomeUnknown: false,
          status: 407,
        });
      }
      assert.deepEqual(received, []);
    });
  }

  it("names a proxy that is down or does not connect", async (t) => {
    const [plain, safe] = ["http://service.example", "https://service.example"];
    const nobody = "http://127.0.0.1:1";
    const unreached = {
      name: "ProxyError",
      at: nobody,
      code: "ECONNREFUSED",
      message: `Failed to reach the proxy ${nobody}: connection refused (ECONNREFUSED).`,
      outcomeUnknown: false,
      status: undefined,
    };
    assert.deepEqual(
      [await sendThroughProxy(t, plain, nobody), await sendThroughProxy(t, safe, nobody)],
      [unreached, unreached],
    );

    const forbids = await startSocketServer(t, (socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n")),
    );
    assert.deepEqual(await sendThroughProxy(t, safe, forbids), {
      name: "ProxyError",
      at: forbids,
      code: "PROXY_REFUSED",
      message: `The proxy ${forbids} does not connect to ${safe} (403).`,
      outcomeUnknown: false,
      status: 403,
    });
    // The proxy responds instead of the service, and the client cannot distinguish the two.
    assert.deepEqual(await sendThroughProxy(t, plain, forbids), [403, ""]);
  });

  it("reports a connection that was cut beyond the proxy or before a response", async (t) => {
    const plain = "http://service.example";
    const hangsUp = await startSocketServer(t, (socket) => socket.destroy());
    const hangs = await startSocketServer(t, () => {});
    const messages = [await sendThroughProxy(t, plain, hangsUp), await sendThroughProxy(t, plain, hangs)].map(
      (outcome) => ("message" in outcome ? [outcome.name, outcome.at, outcome.message] : outcome),
    );
    assert.deepEqual(messages, [
      [
        "NetworkError",
        plain,
        `Request to ${plain} through the proxy ${hangsUp} failed: the connection was closed (UND_ERR_SOCKET).`,
      ],
      [
        "NetworkError",
        plain,
        `Request to ${plain} through the proxy ${hangs} failed: no response within 700 ms (ETIMEDOUT).`,
      ],
    ]);
  });
});

describe("request without a proxy", () => {
  it("reports a refused connection or an unknown host without naming a proxy", async (t) => {
    const transport = createTransport();
    t.after(() => transport.close());
    const request = { method: "GET", url: "http://127.0.0.1:1/x?key=secret", headers: {}, body: undefined } as const;
    await assert.rejects(transport.send(request, { timeoutMs: 700 }), {
      name: "NetworkError",
      origin: "http://127.0.0.1:1",
      code: "ECONNREFUSED",
      message: "Failed to reach http://127.0.0.1:1: connection refused (ECONNREFUSED).",
      outcomeUnknown: false,
    });
  });

  it("names the operation and the reason if the request cannot be sent", async (t) => {
    const transport = createTransport();
    t.after(() => transport.close());
    const request = {
      method: "GET",
      url: "http://127.0.0.1:1/x",
      headers: { "x-a": "b\nc" },
      body: undefined,
    } as const;
    await assert.rejects(transport.send(request, { timeoutMs: 700 }), {
      name: "InvalidArgumentsError",
      message: "GET /x: headers: invalid x-a header",
      problems: [{ in: "headers", path: [], message: "invalid x-a header", missing: false }],
    });
  });
});
