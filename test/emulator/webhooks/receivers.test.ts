import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createTls } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer as createTcp } from "node:net";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { findForbiddenAddressReason, findForbiddenUrlReason } from "../../../emulator/http/outgoing/receiver-rules.ts";
import { createWebhookSender } from "../../../emulator/http/outgoing/webhook-sender.ts";
import { deliveries, listAttempts } from "../../../emulator/webhooks/deliveries.ts";
import { showDelivery } from "../../../emulator/webhooks/log.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { verifyContentHash, verifyStandardWebhook } from "../../../src/schemes/webhook.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { startRawServer } from "../../support/raw-server.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createDeliveryFixture, hmacKey } from "../../support/webhooks.ts";

/** A port outside the range for automatic ports. */
const closedUrl = "http://127.0.0.1:1";

const shortTimeouts = { webhookConnectTimeoutMs: 400, webhookResponseTimeoutMs: 150 };

describe("delivery attempt", () => {
  it("sends a signed POST of the event with the same bytes each time", async (t) => {
    const { subscribe, happen, runner } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond(500);
    await subscribe(`${sink.url}/hooks?team=a`, { custom_headers: { "X-Team": "legal" } });
    await happen("CONTRACT_SIGNED");
    await runner.advance({ next: true });

    const [first, second] = sink.received;
    assert.deepEqual(first?.body, second?.body);
    const { method, url, headers, body } = first!;
    assert.deepEqual(
      [method, url, headers["content-type"], headers["x-team"], headers["content-length"], headers["webhook-id"]],
      ["POST", "/hooks?team=a", "application/json", "legal", String(body.length), undefined],
    );
    const signature = headers["x-svc-webhook-content-hash"];
    assert.deepEqual(verifyContentHash(hmacKey, body, signature as string), { ok: true });
    assert.equal(
      body.toString(),
      '{"activity":"CONTRACT_SIGNED","activity_data":{"performed_by":{"name":"Ada","email":"ada@example.com"},' +
        '"timestamp":"2031-01-02T03:04:05.000000Z"},"contract_id":17,"contract_title":"Lease","contract_type":"NDA",' +
        '"contract_type_name":"NDA","contract_type_id":5,"contract_status":"DRAFT","contract_kind":"TEMPLATE_CONTRACT",' +
        '"business_user":{"name":"Ada","email":"ada@example.com"},"created_at":"2031-01-02T03:04:05.000Z"}',
    );
  });

  for (const deterministic of [false, true]) {
    const when = deterministic ? ", under --deterministic, too" : "";
    it(`sends a constant Standard Webhooks ID and a wall-clock timestamp on request${when}`, async (t) => {
      let now = Date.UTC(2026, 0, 1);
      const wall = { ...systemWallClock, now: () => now };
      const settings = { webhookSchemes: ["standard"] as const, deterministic };
      const { subscribe, happen, runner } = await createDeliveryFixture(t, { settings, wall });
      const sink = await startReceiver(t);
      sink.respond(500);
      await subscribe(sink.url);
      await happen("CONTRACT_SIGNED");
      await runner.waitUntilIdle();
      now += 7_000;
      await runner.advance({ next: true });

      assert.deepEqual(
        sink.received.map(({ headers }) => headers["webhook-timestamp"]),
        ["1767225600", "1767225607"],
      );
      const results = sink.received.map(({ headers, body }) =>
        verifyStandardWebhook({
          "webhook-id": headers["webhook-id"] as string,
          "webhook-timestamp": headers["webhook-timestamp"] as string,
          "webhook-signature": headers["webhook-signature"] as string,
          secret: hmacKey,
          body,
          nowMs: now,
        }),
      );
      assert.deepEqual(results, [{ ok: true }, { ok: true }]);
      const [first, second] = sink.received;
      assert.equal(first?.headers["webhook-id"], second?.headers["webhook-id"]);
    });
  }

  for (const [status, outcome] of [
    [200, "delivered"],
    [204, "delivered"],
    [299, "delivered"],
    [302, "retrying"],
    [404, "retrying"],
    [503, "retrying"],
  ] as const) {
    it(`treats the response ${status} as ${outcome}`, async (t) => {
      const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
      const sink = await startReceiver(t);
      sink.respond((_, response) => void response.writeHead(status, { location: sink.url }).end());
      const id = await subscribe(sink.url);
      await happen("CONTRACT_CREATED");
      await runner.waitUntilIdle();
      // A redirect is not followed, so there is one request.
      assert.equal(sink.received.length, 1);
      assert.deepEqual(await story(), [{ webhook: id, outcome, attempts: [`+0 ${status}`] }]);
    });
  }

  it("fails when the connection is refused", async (t) => {
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
    const id = await subscribe(closedUrl);
    await happen("CONTRACT_CREATED");
    await runner.waitUntilIdle();
    assert.deepEqual(await story(), [{ webhook: id, outcome: "retrying", attempts: ["+0 connection_refused"] }]);
  });

  it("fails when the receiver hangs up or uses another protocol", async (t) => {
    const { store, subscribe, happen, runner, story } = await createDeliveryFixture(t);
    const silent = await startTcpServer(t, (socket) => void socket.once("data", () => socket.destroy()));
    const chatty = await startTcpServer(
      t,
      (socket) => void socket.once("data", () => socket.end("220 mail.example ready\r\n")),
    );
    const twoLengths = await startRawServer(t, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok");
    const lowStatus = await startRawServer(t, "HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n");
    for (const url of [silent, chatty, twoLengths.url, lowStatus.url]) await subscribe(url);
    await happen("CONTRACT_CREATED");
    await runner.waitUntilIdle();
    assert.deepEqual(
      (await story()).map(({ attempts }) => attempts),
      [["+0 connection_reset"], ["+0 not_http"], ["+0 not_http"], ["+0 not_http"]],
    );
    // A response can be HTTP and have one wrong header.
    const messages = store.list(deliveries).map((delivery) => listAttempts(store, delivery)[0]?.error?.message);
    assert.deepEqual(messages.slice(1), Array(3).fill("The response is not valid HTTP."));
  });

  it("times out before a response, but accepts a slow 2xx, also with an incomplete body", async (t) => {
    const wall = new ManualWallClock();
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t, { settings: shortTimeouts, wall });
    const hanging = await startReceiver(t);
    const trickling = await startReceiver(t);
    const slow = await startReceiver(t);
    let finish = () => {};
    const attemptsReceived = [
      new Promise<void>((resolve) => hanging.respond(() => resolve())),
      new Promise<void>((resolve) =>
        trickling.respond((_, response) => void response.writeHead(200).write("almost", () => resolve())),
      ),
      new Promise<void>((resolve) =>
        slow.respond((_, response) => {
          finish = () => void response.writeHead(200).end("ok");
          resolve();
        }),
      ),
    ];
    for (const { url } of [hanging, trickling, slow]) await subscribe(url);
    const listOutcomes = async () => (await story()).map(({ outcome, attempts }) => [outcome, ...attempts]);
    await happen("CONTRACT_CREATED");
    await Promise.all(attemptsReceived);
    await wall.pass(shortTimeouts.webhookResponseTimeoutMs - 1);
    finish();
    while ((await story())[2]?.outcome !== "delivered") await waitForIdle();
    await wall.pass(1);
    await runner.waitUntilIdle();
    assert.deepEqual(await listOutcomes(), [
      ["retrying", "+0 response_timeout"],
      ["delivered", "+0 200"],
      ["delivered", "+0 200"],
    ]);
  });

  it("fails when the certificate is not trusted", async (t) => {
    const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
    const server = createTls(readSelfSignedCertificate(), (_, response) => response.end());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    await subscribe(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await happen("CONTRACT_CREATED");
    await runner.waitUntilIdle();
    assert.deepEqual(
      (await story()).map(({ attempts }) => attempts),
      [["+0 tls_error"]],
    );
  });

  it("stores the first 64 kB of an endless response and stops reading", async (t) => {
    const { subscribe, happen, runner, store } = await createDeliveryFixture(t);
    const sink = await startReceiver(t);
    sink.respond((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(16_384)));
      };
      response.on("drain", more);
      more();
    });
    await subscribe(sink.url);
    await happen("CONTRACT_CREATED");
    await runner.waitUntilIdle();
    const details = showDelivery(store, 1);
    assert.deepEqual(
      [details?.delivery.outcome, details?.attempts[0]?.status, details?.attempts[0]?.response_body?.length],
      ["delivered", 200, 65_536],
    );
  });

  const text = `{"error":"${"no coffee ".repeat(20)}"}`;
  const long = "x".repeat(100_000);
  const bomb = "x".repeat(20_000_000);
  for (const [name, encoding, body, recorded] of [
    ["decodes gzip", "gzip", gzipSync(text), text],
    ["decodes the name of an old coding", "X-GZIP", gzipSync(text), text],
    ["decodes deflate", "deflate", deflateSync(text), text],
    ["decodes brotli", "br", brotliCompressSync(text), text],
    ["decodes the first 64 kB", "gzip", gzipSync(long), long.slice(0, 65_536)],
    ["names the coding of a bomb", "gzip", gzipSync(bomb), "(compressed: gzip)"],
    ["decodes the beginning of a damaged body", "gzip", gzipSync(text).subarray(0, -6), text],
    ["names a coding that it cannot decode", "zstd", Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), "(compressed: zstd)"],
    ["names several codings", "gzip, gzip", gzipSync(gzipSync(bomb)), "(compressed: gzip, gzip)"],
    ["names the coding of bytes that do not have it", "gzip", Buffer.from([0xff, 0xfe]), "(compressed: gzip)"],
    ["shows text that does not have the named coding", "gzip", Buffer.from("plain"), "plain"],
  ] as const) {
    it(`${name} in a compressed response`, async (t) => {
      const { subscribe, happen, runner, store } = await createDeliveryFixture(t);
      const sink = await startReceiver(t);
      sink.respond((_, response) => response.writeHead(500, { "content-encoding": encoding }).end(body));
      await subscribe(sink.url);
      await happen("CONTRACT_CREATED");
      await runner.waitUntilIdle();
      const details = showDelivery(store, 1);
      assert.equal(details?.attempts[0]?.response_body, recorded);
    });
  }

  it("skips a disallowed host without counting a failure", async (t) => {
    const { subscribe, happen, runner, story, subscription } = await createDeliveryFixture(t);
    const id = await subscribe("https://receiver.example/hooks");
    await happen("CONTRACT_CREATED");
    await runner.waitUntilIdle();
    assert.deepEqual(await story(), [{ webhook: id, outcome: "skipped_not_allowed", attempts: [] }]);
    assert.deepEqual(await subscription(id), { status: "ACTIVE", failure_count: 0 });
  });
});

describe("webhook destination check", () => {
  const local = { allow: ["hooks.example", "*.inner.example", "10.1.2.3", "box.example:8080"], strict: false };
  const strict = { allow: ["10.1.2.3"], strict: true };
  for (const [url, rules, code] of [
    ["http://127.0.0.1:3000/x", local, undefined],
    ["http://localhost./x", local, undefined],
    ["http://a.localhost/x", local, undefined],
    ["http://[::1]:3000/", local, undefined],
    ["http://2130706433/", local, undefined],
    ["http://0x7f.1/", local, undefined],
    ["https://hooks.example/", local, undefined],
    ["https://a.inner.example/", local, undefined],
    ["http://10.1.2.3/", local, undefined],
    ["http://box.example:8080/", local, undefined],
    ["http://box.example:8081/", local, "address_not_allowed"],
    ["https://inner.example/", local, "address_not_allowed"],
    ["https://evilhooks.example/", local, "address_not_allowed"],
    ["http://10.1.2.4/", local, "address_not_allowed"],
    ["http://[::ffff:7f00:1]/", local, undefined],
    ["http://[::ffff:a9fe:a9fe]/", local, "address_not_allowed"],
    ["http://169.254.169.254/latest", local, "address_not_allowed"],
    ["http://0.0.0.0/", local, "address_not_allowed"],
    ["http://[::]/", local, "address_not_allowed"],
    ["http://user:secret@127.0.0.1/", local, "bad_url"],
    ["ftp://127.0.0.1/", local, "bad_url"],
    ["nonsense", local, "bad_url"],
    ["http://receiver.example/", strict, "bad_url"],
    ["https://receiver.example/", strict, undefined],
    ["https://127.0.0.1/", strict, "address_not_allowed"],
    ["https://localhost/", strict, "address_not_allowed"],
    ["https://192.168.1.1/", strict, "address_not_allowed"],
    ["https://[fd12::1]/", strict, "address_not_allowed"],
    ["https://10.1.2.3/", strict, undefined],
    ...[
      ["NAT64", "64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b:1::1"],
      ["6to4", "2002:7f00:1::", "2002:c0a8:101::1"],
      ["Teredo", "2001:0:a00:1::", "2001::80ff:fffe"],
      ["ISATAP", "2001:db8::5efe:10.0.0.1", "2001:db8::200:5efe:10.0.0.1"],
      ["IPv4 in other forms", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:10.0.0.1"],
      ["no receiver's", "fec0::1", "100::1", "::5"],
      ["metadata", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::ffff:169.254.169.254"],
    ].flatMap(([, ...all]) => all.map((address) => [`https://[${address}]/`, strict, "address_not_allowed"] as const)),
    ...["64:ff9b::8.8.8.8", "2002:808:808::", "2606:4700::1111", "2001:4860::8888"].map(
      (address) => [`https://[${address}]/`, strict, undefined] as const,
    ),
    ["http://[64:ff9b::7f00:1]/", local, "address_not_allowed"],
    ["http://[::ffff:127.0.0.1]/", local, undefined],
  ] as const) {
    it(`${code ? "rejects" : "allows"} ${url}${rules.strict ? " in strict mode" : ""}`, () => {
      assert.equal(findForbiddenUrlReason(url, rules)?.code, code);
    });
  }

  it("blocks a metadata address even if the allowlist contains it", () => {
    const rules = { allow: ["169.254.169.254"], strict: false };
    assert.equal(findForbiddenUrlReason("http://169.254.169.254/", rules)?.code, "address_not_allowed");
  });

  it("checks a host name by each of its addresses", () => {
    const url = new URL("http://localhost/");
    assert.equal(findForbiddenAddressReason("127.0.0.1", url, local), undefined);
    assert.equal(findForbiddenAddressReason("93.184.216.34", url, local)?.code, "address_not_allowed");
  });

  it("resolves and connects to a listed host name", async (t) => {
    const sink = await startReceiver(t);
    const outgoing = createWebhookSender({
      ...local,
      wall: systemWallClock,
      connectTimeoutMs: 60_000,
      responseTimeoutMs: 60_000,
    });
    t.after(() => outgoing.close());
    const port = new URL(sink.url).port;
    const sent = await outgoing.post({ url: `http://localhost:${port}/`, headers: {}, body: Buffer.from("{}") });
    assert.deepEqual(sent, { status: 200, body: Buffer.alloc(0) });
  });
});

type After = Parameters<typeof startReceiver>[0];

async function startTcpServer(t: After, talk: (socket: import("node:net").Socket) => void): Promise<string> {
  const server = createTcp((socket) => {
    socket.on("error", () => {});
    talk(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const readSelfSignedCertificate = () => ({
  key: readFileSync(new URL("../../../fixtures/tls/self-signed.key.pem", import.meta.url)),
  cert: readFileSync(new URL("../../../fixtures/tls/self-signed.cert.pem", import.meta.url)),
});

describe("receiver response", () => {
  const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  for (const [name, status, ...pieces] of [
    ["a 200 after an unrequested 100", 200, "HTTP/1.1 100 Continue\r\n\r\n", ok],
    ["a 200 in one piece with a 100", 200, `HTTP/1.1 100 Continue\r\n\r\n${ok}`],
    ["a 503 after a 100", 503, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n"],
    ["a 204 with a length and bytes", 204, "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok"],
    ["a 204 with a length and no bytes", 204, "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n"],
    ["a 304 with a length", 304, "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n"],
    [
      "a 200 with 40,000 bytes of headers",
      200,
      `HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(40_000)}\r\ncontent-length: 0\r\n\r\n`,
    ],
  ] as const) {
    it(`records ${name} and ignores trailing data`, async (t) => {
      const { subscribe, happen, runner, story } = await createDeliveryFixture(t);
      const sink = await startRawServer(t, ...pieces);
      await subscribe(sink.url);
      for (let i = 0; i < 2; i += 1) {
        await happen("CONTRACT_SIGNED");
        await runner.waitUntilIdle();
      }
      const attempts = (await story()).map(({ attempts }) => attempts);
      assert.deepEqual(attempts, [[`+0 ${status}`], [`+0 ${status}`]]);
    });
  }

  const incomplete = "content-length: 1000\r\n\r\nabc";
  for (const [name, status, body, bytes] of [
    ["a 200 whose body is cut off", 200, `HTTP/1.1 200 OK\r\n${incomplete}`, "abc"],
    ["a 500 whose body is cut off", 500, `HTTP/1.1 500 x\r\n${incomplete}`, "abc"],
    ["a 200 without the promised body", 200, "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", ""],
    ["a 200 whose chunk is cut off", 200, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nabc", "abc"],
    ["a 200 without a last chunk", 200, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", "abc"],
    ["a 200 with an invalid chunk", 200, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc", ""],
    ["a 503 after a 103, cut off", 503, `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 503 x\r\n${incomplete}`, "abc"],
    ["a change of protocols", "not_http", "HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: y\r\n\r\n", undefined],
    ["no status after a 103", "connection_reset", "HTTP/1.1 103 Early Hints\r\n\r\n", undefined],
  ] as const) {
    it(`records ${name}`, async (t) => {
      const { subscribe, happen, runner, store } = await createDeliveryFixture(t);
      const url = await startTcpServer(t, (socket) => void socket.once("data", () => socket.end(body)));
      await subscribe(url);
      await happen("CONTRACT_SIGNED");
      await runner.waitUntilIdle();
      const [attempt] = showDelivery(store, 1)!.attempts;
      assert.deepEqual([attempt!.status ?? attempt!.error?.code, attempt!.response_body ?? undefined], [status, bytes]);
    });
  }
});
