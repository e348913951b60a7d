import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import type { CallableOperation } from "../../src/api/operation.ts";
import { checkHealth } from "../../src/api/router/proxied.ts";
import { getObject } from "../../src/api/storage/objects.ts";
import { CheckedCall } from "../../src/client/checked-call.ts";
import { createClient } from "../../src/client/client.ts";
import { InvalidResponseError, ResponseTooLargeError, ServiceError } from "../../src/client/errors.ts";
import { parseServerSentEvents } from "../../src/client/event-stream.ts";
import { type ReadMode, resolveMaxBytes } from "../../src/client/limits.ts";
import { getReadMode, readBodyText } from "../../src/client/response.ts";
import { createTransport } from "../../src/client/transport.ts";
import { type RawConnection, startMisbehavingServer } from "../support/cli/misbehaving-server.ts";
import { ManualWallClock } from "../support/clocks/manual-wall-clock.ts";

const mebi = 2 ** 20;
/** The bytes that were sent into the buffers of a connection before a reader consumed them. */
const between = 64 * mebi;

const ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const formatChunk = (bytes: number) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;

/** Polls until the condition is true, because the other end of the connection reacts asynchronously. */
async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

/** A request to a scripted server, with a clock that only the test advances. */
async function startRequest(
  t: TestContext,
  play: (play: RawConnection) => void,
  reading: ReadMode = "whole",
  maxResponseBytes?: number,
) {
  const server = await startMisbehavingServer(t, play);
  const wall = new ManualWallClock();
  const transport = createTransport({ wall, maxResponseBytes });
  t.after(() => transport.close());
  const pending = transport.send(
    { method: "GET", url: `${server.url}/x`, headers: {}, body: undefined },
    { timeoutMs: 30_000, chooseReadMode: () => reading, repeatable: true },
  );
  return { server, wall, pending, text: async () => readBodyText((await pending).body) };
}

const describeFailure = (request: Promise<unknown>) =>
  request.then(
    () => "came through",
    (error: Error) => [error.name, error.message.replace(/127\.0\.0\.1:\d+/, "HOST")],
  );

describe("endless response", () => {
  it("aborts at the limit and names the limit in the error", async (t) => {
    for (const head of [`${ok}transfer-encoding: chunked\r\n\r\n`, `${ok}\r\n`]) {
      const { server, text } = await startRequest(
        t,
        (play) => {
          play.write(head);
          play.flood(head.includes("chunked") ? formatChunk(4_096) : "x");
        },
        "whole",
        3 * mebi,
      );
      assert.deepEqual(await describeFailure(text()), [
        "ResponseTooLargeError",
        "Failed to read from http://HOST: the response is larger than 3 MiB.",
      ]);
      await waitUntil(() => server.open() === 0);
      assert.ok(server.countAcceptedBytes() < 3 * mebi + between, `${server.countAcceptedBytes()}`);
    }
  });

  it("aborts at the default limit", async (t) => {
    const { server, text } = await startRequest(t, (play) => {
      play.write(`${ok}\r\n`);
      play.flood("x");
    });
    assert.deepEqual(await describeFailure(text()), [
      "ResponseTooLargeError",
      "Failed to read from http://HOST: the response is larger than 256 MiB.",
    ]);
    assert.ok(server.countAcceptedBytes() < 256 * mebi + between, `${server.countAcceptedBytes()}`);
  });

  it("rejects a declared length over the limit without reading the body", async (t) => {
    const head = `${ok}content-length: ${300 * mebi}\r\n\r\n`;
    const { server, pending } = await startRequest(t, (play) => play.write(head));
    assert.deepEqual(await describeFailure(pending), [
      "ResponseTooLargeError",
      "Failed to read from http://HOST: the response is larger than 256 MiB.",
    ]);
    await waitUntil(() => server.open() === 0);
  });

  it("applies backpressure while the caller does not read", async (t) => {
    const { server, pending, wall } = await startRequest(
      t,
      (play) => {
        play.write(`${ok}\r\n`);
        play.flood("x");
      },
      "stream",
    );
    const parts = (await pending).body[Symbol.asyncIterator]();
    await parts.next();
    let before = -1;
    await waitUntil(() => {
      const isStill = server.countAcceptedBytes() === before;
      before = server.countAcceptedBytes();
      return isStill;
    });
    // The timeout does not apply, because the reader causes the delay.
    await wall.pass(10 * 60_000);
    assert.ok(server.countAcceptedBytes() < between, `${server.countAcceptedBytes()}`);
    assert.equal((await parts.next()).done, false);
    await parts.return?.();
    await waitUntil(() => server.open() === 0);
  });

  it("allows a retry of a retryable status", async (t) => {
    const server = await startMisbehavingServer(t, (play) => {
      play.write("HTTP/1.1 503 No\r\n\r\n");
      play.flood("x");
    });
    const wall = { now: () => 0, monotonicNow: () => 0, sleep: async () => {} };
    const transport = createTransport({ maxResponseBytes: mebi });
    const client = createClient({ baseUrls: { router: server.url }, transport, wall });
    t.after(() => client.close());
    await assert.rejects(client.call(checkHealth), ResponseTooLargeError);
    assert.ok(server.countAcceptedBytes() < mebi + 4 * between, `${server.countAcceptedBytes()}`);
  });
});

describe("phase before the final response", () => {
  it("limits the number of interim responses", async (t) => {
    const { server, pending } = await startRequest(t, (play) => play.flood("HTTP/1.1 103 Early\r\nlink: </a>\r\n\r\n"));
    assert.deepEqual(await describeFailure(pending), [
      "ResponseTooLargeError",
      "Failed to read from http://HOST: it sent more than 100 interim responses.",
    ]);
    await waitUntil(() => server.open() === 0);
    assert.ok(server.countAcceptedBytes() < between);
  });

  it("does not extend the timeout for interim responses", async (t) => {
    let more = () => {};
    const { pending, wall } = await startRequest(t, (play) => {
      more = () => play.write("HTTP/1.1 103 Early\r\nlink: </a>\r\n\r\n");
      more();
    });
    const outcome = describeFailure(pending);
    await waitUntil(() => wall.sleeping.length === 1);
    for (let i = 0; i < 29; i += 1) {
      more();
      await wall.pass(1_000);
    }
    assert.deepEqual(wall.sleeping, [1_000]);
    await wall.pass(1_000);
    assert.deepEqual(await outcome, [
      "NetworkError",
      "Request to http://HOST failed: no response within 30 s (ETIMEDOUT).",
    ]);
  });

  it("limits header size per line and in total", async (t) => {
    for (const piece of ["x", "x: y\r\n"]) {
      const { server, pending } = await startRequest(t, (play) => {
        play.write(`${ok}x-flood: `);
        play.flood(piece);
      });
      assert.deepEqual(await describeFailure(pending), [
        "ResponseTooLargeError",
        "Failed to read from http://HOST: its headers are larger than 16 KiB.",
      ]);
      await waitUntil(() => server.open() === 0);
      assert.ok(server.countAcceptedBytes() < between);
    }
  });

  it("times out when headers arrive slowly", async (t) => {
    const { pending, wall } = await startRequest(t, (play) => play.write("HTTP/1.1 200 OK\r\nx-a"));
    const outcome = describeFailure(pending);
    await waitUntil(() => wall.sleeping.length === 1);
    await wall.pass(30_000);
    assert.match(String(await outcome), /no response within 30 s/);
  });
});

describe("response over the size limit", () => {
  for (const [label, play, adjustable] of [
    ["body", (play) => play.write(`${ok}content-length: ${300 * mebi}\r\n\r\n`), true],
    [
      "headers",
      (play) => {
        play.write(`${ok}x-flood: `);
        play.flood("x");
      },
      false,
    ],
    ["interim responses", (play) => play.flood("HTTP/1.1 103 Early\r\nlink: </a>\r\n\r\n"), false],
  ] as [string, (play: RawConnection) => void, boolean][]) {
    it(`${adjustable ? "allows" : "does not allow"} a higher limit for its ${label}`, async (t) => {
      const { pending } = await startRequest(t, play);
      await assert.rejects(pending, { name: "ResponseTooLargeError", adjustable });
    });
  }
});

describe("complete response", () => {
  it("stops all timers and does not fail later", async (t) => {
    for (const reading of ["whole", "stream"] as const) {
      const { pending, wall } = await startRequest(
        t,
        (play) => play.write(`${ok}content-length: 2\r\n\r\n{}`),
        reading,
      );
      const { body } = await pending;
      await waitUntil(() => wall.sleeping.length === 0);
      await wall.pass(10 * 60_000);
      assert.equal(await readBodyText(body), "{}");
    }
  });
});

describe("slow response", () => {
  it("times out before the first byte of a stream", async (t) => {
    const { pending, text, wall } = await startRequest(t, (play) => play.write(`${ok}\r\n`), "stream");
    await pending;
    const outcome = describeFailure(text());
    await waitUntil(() => wall.sleeping.length === 1);
    await wall.pass(30_000);
    assert.deepEqual(await outcome, [
      "NetworkError",
      "Request to http://HOST failed: the response stopped in the middle for 30 s (ETIMEDOUT).",
    ]);
  });

  it("applies a single timeout if the body is buffered", async (t) => {
    let drip = () => {};
    const { pending, text, wall, server } = await startRequest(t, (play) => {
      play.write(`${ok}\r\n`);
      drip = () => play.write(" ");
    });
    await pending;
    const outcome = describeFailure(text());
    for (let second = 0; second < 29; second += 1) {
      drip();
      await wall.pass(1_000);
    }
    assert.equal(server.open(), 1);
    await wall.pass(1_000);
    assert.deepEqual(await outcome, [
      "NetworkError",
      "Request to http://HOST failed: the response was incomplete after 30 s (ETIMEDOUT).",
    ]);
    await waitUntil(() => server.open() === 0);
  });

  it("allows a stream of hours at 1 KiB per second or more", async (t) => {
    let bring = (_bytes: number) => {};
    const { pending, wall, server } = await startRequest(
      t,
      (play) => {
        play.write(`${ok}\r\n`);
        bring = (bytes) => play.write("x".repeat(bytes));
      },
      "stream",
    );
    let read = 0;
    const reading = describeFailure(
      pending.then(async ({ body }) => {
        for await (const part of body) read += part.length;
      }),
    );
    await pending;
    for (let window = 1; window <= 200; window += 1) {
      bring(30_720);
      await waitUntil(() => read === window * 30_720);
      await wall.pass(30_000);
    }
    assert.equal(server.open(), 1);
    bring(1_000);
    await waitUntil(() => read === 200 * 30_720 + 1_000);
    await wall.pass(30_000);
    assert.deepEqual(await reading, [
      "NetworkError",
      "Request to http://HOST failed: the response was slower than 1 KiB per second for 30 s (ETIMEDOUT).",
    ]);
  });

  it("allows an event stream to be idle indefinitely", async (t) => {
    const server = await startMisbehavingServer(t, (play) => play.write(`${ok}\r\nx`));
    const wall = new ManualWallClock();
    const transport = createTransport({ wall });
    t.after(() => transport.close());
    const { body } = await transport.send(
      { method: "GET", url: server.url, headers: {}, body: undefined },
      { timeoutMs: 30_000, silenceMs: 0, chooseReadMode: () => "events" },
    );
    const parts = body[Symbol.asyncIterator]();
    await parts.next();
    await wall.pass(86_400_000);
    assert.deepEqual([server.open(), wall.sleeping], [1, []]);
    await parts.return?.();
  });
});

describe("slow upload", () => {
  it("does not time out while the server reads the body", async (t) => {
    const server = createServer((request, response) => void request.resume().on("end", () => response.end("{}")));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const wall = new ManualWallClock();
    const transport = createTransport({ wall });
    t.after(() => transport.close());
    async function* slowly() {
      for (let piece = 0; piece < 10; piece += 1) {
        yield Buffer.alloc(1_000);
        await wall.pass(29_000);
      }
    }
    const { port } = server.address() as AddressInfo;
    const { status } = await transport.send(
      { method: "PUT", url: `http://127.0.0.1:${port}/`, headers: {}, body: slowly },
      { timeoutMs: 30_000 },
    );
    assert.equal(status, 200);
  });
});

describe("response limit of an operation", () => {
  it("allows larger and slower state exports", () => {
    const json = { responses: { 200: { kind: "json" } } };
    const allowed = (id: string, status: number) =>
      resolveMaxBytes(getReadMode({ ...json, id } as unknown as CallableOperation, status), undefined) / mebi;
    assert.deepEqual(
      [allowed("state.export", 200), allowed("state.export", 500), allowed("other", 200)],
      [500, 256, 256],
    );
  });

  it("applies the limit of the status: streamed success, buffered error", async (t) => {
    const megabytes = Buffer.alloc(2 * mebi, "x");
    let status = 200;
    const server = createServer((_, response) =>
      response.writeHead(status, { "content-type": "application/octet-stream", "x-long": "1" }).end(megabytes),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const transport = createTransport({ maxResponseBytes: 2 * mebi });
    const client = createClient({ baseUrls: {}, transport });
    t.after(() => client.close());
    const { value } = await client.send(CheckedCall.check(getObject), { url });
    assert.equal((await readBodyText(value as AsyncIterable<Uint8Array>)).length, 2 * mebi);
    status = 403;
    await assert.rejects(client.send(CheckedCall.check(getObject), { url }), ServiceError);
  });
});

describe("event stream", () => {
  it("limits each event and each line, but not the total size", async () => {
    const large = "x".repeat(mebi);
    async function* createRepeatedBody(begin: string, piece: string, times: number, end = "") {
      yield Buffer.from(begin);
      for (let i = 0; i < times; i += 1) yield Buffer.from(piece);
      yield Buffer.from(end);
    }
    const count = async (stream: AsyncIterable<Uint8Array>) => {
      let events = 0;
      for await (const _ of parseServerSentEvents(stream)) events += 1;
      return events;
    };
    const tooLarge = (error: Error) =>
      error instanceof InvalidResponseError && error.message === "The service sent an event of more than 16 MiB.";
    await assert.rejects(count(createRepeatedBody("data: ", large, 17)), tooLarge);
    await assert.rejects(count(createRepeatedBody("", `data: ${large}\n`, 17)), tooLarge);
    await assert.rejects(count(createRepeatedBody("", `:${large}\n`, 17)), tooLarge);
    assert.equal(await count(createRepeatedBody("", `data: "${large}"\n\n`, 40)), 40);
    assert.equal(await count(createRepeatedBody('data: "', large, 15, '"\r\n\r\n')), 1);
  });

  it("accepts line endings split between chunks", async () => {
    const events: unknown[] = [];
    for await (const event of parseServerSentEvents(
      Readable.from(["data: [1,\r", "\ndata: 2]\r", "\r", "\n", "da", "ta:3\n\n"].map((text) => Buffer.from(text))),
    )) {
      events.push(event);
    }
    assert.deepEqual(events, [[1, 2], 3]);
  });
});
