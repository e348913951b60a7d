import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { after, describe, it } from "node:test";
import { advanceClock } from "../../src/api/emulator/clock.ts";
import { resendDelivery } from "../../src/api/emulator/deliveries.ts";
import { mapClusterEmails } from "../../src/api/router/mapping-tables.ts";
import { checkHealth } from "../../src/api/router/proxied.ts";
import type { WallClock } from "../../src/base/clock.ts";
import { type Client, createClient, type ExchangeObserver } from "../../src/client/client.ts";
import { NetworkError, ServiceError } from "../../src/client/errors.ts";
import { createTransport } from "../../src/client/transport.ts";

const instantly = { now: () => 0, monotonicNow: () => 0, sleep: async () => {} };

describe("HTTP client", () => {
  const closers: (() => void)[] = [];
  after(() => {
    for (const close of closers) close();
  });

  async function serviceThat(listener: RequestListener, wall: WallClock = instantly, observer: ExchangeObserver = {}) {
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      listener(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = createClient({
      baseUrls: { router: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      transport: createTransport(),
      wall,
      observer,
      timeoutMs: 500,
    });
    closers.push(() => {
      void client.close();
      server.closeAllConnections();
      server.close();
    });
    return { client, requests: () => requests };
  }

  it("calls an operation and returns a typed result", async () => {
    const { client } = await serviceThat((_, response) => response.end('{"database":true}'));
    const health: { database: boolean } = await client.call(checkHealth);
    assert.deepEqual(health, { database: true });
  });

  it("joins the values of a repeated response header", async () => {
    const { client } = await serviceThat((_, response) => {
      response.writeHead(503, ["WWW-Authenticate", "Basic", "X-Other", "1", "www-authenticate", "Bearer"]).end("{}");
    });
    await assert.rejects(client.call(checkHealth, {}, { retries: 0 }), (error: ServiceError) => {
      const { "www-authenticate": challenges, "x-other": other } = error.headers;
      assert.deepEqual([challenges, other], ["Basic, Bearer", "1"]);
      return true;
    });
  });

  it("sends nothing if the caller aborts before the connection is open", async () => {
    const { client, requests } = await serviceThat((_, response) => response.end('{"database":true}'));
    const abort = new AbortController();
    const call = client.call(checkHealth, {}, { signal: abort.signal });
    abort.abort();
    await assert.rejects(call, { name: "AbortError" });
    assert.equal(requests(), 0);
    assert.deepEqual(await client.call(checkHealth), { database: true });
    assert.equal(requests(), 1);
  });

  it("notifies the observer only of responses that differ from their declaration", async () => {
    const reported: unknown[] = [];
    const observer = { onDrift: (...drift: unknown[]) => void reported.push(drift) };
    const bodies = ['{"database":true}', '{"database":true,"disk":true}'];
    const { client } = await serviceThat((_, response) => response.end(bodies.shift()), instantly, observer);
    await client.call(checkHealth);
    assert.deepEqual(reported, []);
    await client.call(checkHealth);
    assert.deepEqual(reported, [["health.show", ["disk: not declared"]]]);
  });

  it("retries a GET after errors, and a POST only if it is declared idempotent", async () => {
    const { client, requests } = await serviceThat((_, response) => response.writeHead(503).end());
    await assert.rejects(client.call(checkHealth), ServiceError);
    assert.equal(requests(), 4);
    const body = { email_hash_list: ["a"], cluster_id: "eu-1" };
    await assert.rejects(client.call(mapClusterEmails, { body }), ServiceError);
    assert.equal(requests(), 5);
    await assert.rejects(client.call(mapClusterEmails, { body }, { repeatable: true }), ServiceError);
    assert.equal(requests(), 9);
  });

  it("retries a truncated response like a closed connection", async () => {
    const { client, requests } = await serviceThat((_, response) => {
      response.writeHead(200, { "content-length": 99, connection: "close" }).end('{"d');
    });
    await assert.rejects(client.call(checkHealth), NetworkError);
    assert.equal(requests(), 4);
    const body = { email_hash_list: ["a"], cluster_id: "eu-1" };
    await assert.rejects(client.call(mapClusterEmails, { body }), NetworkError);
    assert.equal(requests(), 5);
  });

  it("retries every request after a 429, with the delay measured by the service's clock", async () => {
    const slept: number[] = [];
    const wall: WallClock = {
      now: () => Date.UTC(2040, 0, 1),
      monotonicNow: () => 0,
      sleep: async (ms) => void slept.push(ms),
    };
    const date = "Wed, 01 Jan 2031 00:00:00 GMT";
    const retryAfterValues = ["Wed, 01 Jan 2031 00:00:20 GMT", "30"];
    const { client, requests } = await serviceThat((_, response) => {
      const retryAfter = retryAfterValues.shift();
      response.writeHead(retryAfter === undefined ? 200 : 429, {
        date,
        ...(retryAfter && { "retry-after": retryAfter }),
      });
      response.end("{}");
    }, wall);
    await client.call(mapClusterEmails, { body: { email_hash_list: ["a"], cluster_id: "eu-1" } });
    assert.equal(requests(), 3);
    assert.deepEqual(
      slept.map((ms) => ms >= 20_000 && ms < 33_000),
      [true, true],
    );
  });

  it("reports for a 5xx whether the request may have been processed", async () => {
    const assertOutcomeUnknown = async (status: number, call: (client: Client) => Promise<unknown>) => {
      const { client } = await serviceThat((_, response) => response.writeHead(status).end());
      return call(client).catch((error: unknown) => (error as ServiceError).outcomeUnknown);
    };
    const post = (client: Client) =>
      client.call(mapClusterEmails, { body: { email_hash_list: ["a"], cluster_id: "eu-1" } });
    const get = (client: Client) => client.call(checkHealth);
    assert.deepEqual(
      await Promise.all([
        assertOutcomeUnknown(500, post),
        assertOutcomeUnknown(503, post),
        assertOutcomeUnknown(501, post),
        assertOutcomeUnknown(429, post),
        assertOutcomeUnknown(400, post),
        assertOutcomeUnknown(503, get),
      ]),
      [true, true, false, false, false, false],
    );
  });

  for (const [label, listener] of [
    ["hangs", () => {}],
    ["cuts the connection", (request) => request.socket.destroy()],
    [
      "truncates its response",
      (_, response) =>
        response.writeHead(200, { "content-length": 99 }).write('{"d') && setImmediate(() => response.destroy()),
    ],
  ] as [string, RequestListener][]) {
    it(`reports a network error for a service that ${label}`, async () => {
      const { client } = await serviceThat(listener);
      await assert.rejects(
        client.call(checkHealth, {}, { retries: 0 }),
        (error) => error instanceof NetworkError && error.code !== "UNKNOWN",
      );
    });
  }

  it("detects whether a failed request may have been processed", async () => {
    const { client } = await serviceThat((request) => request.socket.destroy());
    const body = { email_hash_list: ["a"], cluster_id: "eu-1" };
    const doubtful = async (call: Promise<unknown>) =>
      call.then(
        () => undefined,
        (error: unknown) => (error as NetworkError).outcomeUnknown,
      );
    const nobody = createClient({ baseUrls: { router: "http://127.0.0.1:1" }, transport: createTransport() });
    assert.deepEqual(
      await Promise.all([
        doubtful(client.call(mapClusterEmails, { body })),
        doubtful(client.call(mapClusterEmails, { body }, { repeatable: true, retries: 0 })),
        doubtful(client.call(checkHealth, {}, { retries: 0 })),
        doubtful(nobody.call(mapClusterEmails, { body })),
      ]),
      [true, false, false, false],
    );
    await nobody.close();
  });

  it("stops retrying when the client closes", async () => {
    let pauses = () => {};
    const paused = new Promise<void>((resolve) => {
      pauses = resolve;
    });
    const until = (_: number, signal?: AbortSignal) =>
      new Promise<void>((woken) => {
        signal?.addEventListener("abort", () => woken());
        pauses();
      });
    const { client, requests } = await serviceThat((_, response) => response.writeHead(503).end(), {
      now: () => 0,
      monotonicNow: () => 0,
      sleep: until,
    });
    const rejection = assert.rejects(client.call(checkHealth), { name: "NetworkError", code: "UND_ERR_DESTROYED" });
    await paused;
    await client.close();
    await rejection;
    assert.equal(requests(), 1);
  });

  for (const [label, bytes, value] of [
    [
      "an unasked 100 Continue before a 200",
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n{"database":true}',
      { database: true },
    ],
    ["a 204 with a length and bytes", "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello", undefined],
  ] as const) {
    it(`handles ${label}`, async (t) => {
      const server = createTcpServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.write(bytes));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const client = createClient({
        baseUrls: { router: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
        transport: createTransport(),
        retries: 0,
      });
      t.after(async () => {
        await client.close();
        server.close();
      });
      assert.deepEqual(await client.call(checkHealth), value);
    });
  }

  it("does not follow redirects", async () => {
    const { client, requests } = await serviceThat((_, response) =>
      response.writeHead(302, { location: "/elsewhere" }).end(),
    );
    await assert.rejects(client.call(checkHealth), (error) => error instanceof ServiceError && error.status === 302);
    assert.equal(requests(), 1);
  });
});

describe("client timeout", () => {
  /** The timeouts that the transport receives for these calls, all of which fail. */
  async function waits(limits: { readonly timeoutMs?: number }): Promise<readonly number[]> {
    const timeouts: number[] = [];
    const client = createClient({
      baseUrls: { router: "http://router", emulator: "http://emulator" },
      credentials: { controlToken: "token" },
      transport: {
        send: async (_, { timeoutMs }) => {
          timeouts.push(timeoutMs);
          throw new Error("nothing is there");
        },
        close: async () => {},
      },
      wall: instantly,
      retries: 0,
      ...limits,
    });
    await Promise.allSettled([
      client.call(checkHealth),
      client.call(resendDelivery, { params: { id: 1 } }),
      client.call(advanceClock, { body: { next: true } }),
    ]);
    return timeouts;
  }

  it("depends on the operation unless the caller sets one", async () =>
    assert.deepEqual(
      [await waits({}), await waits({ timeoutMs: 500 })],
      [
        [30_000, 70_000, 130_000],
        [500, 500, 500],
      ],
    ));
});
