import assert from "node:assert/strict";
import net from "node:net";
import { describe, it, type TestContext } from "node:test";
import { defaultBodyReadTimeouts } from "../../../emulator/http/bodies/request-body-reader.ts";
import { createPart } from "../../../emulator/http/handler.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { contracts, createOperation, emulator, json, raw, router, stream, z } from "./made-up.ts";
import { parseResponse, startTestServer, stateless } from "./serving.ts";

const { bodyTimeoutMs, paceIntervalMs, minPaceBytes } = defaultBodyReadTimeouts;

/** Starts a listener with a stopped wall clock. `uploaded` returns how many bytes of its upload have arrived. */
async function startUploadServer(t: TestContext) {
  const wall = new ManualWallClock();
  let uploaded = 0;
  const server = await startTestServer(
    t,
    [
      createPart({
        operations: [
          createOperation(contracts, "POST", "/json", { body: json(z.object({ a: z.string() })) }, { id: "json" }),
          createOperation(router, "POST", "/raw", { body: raw() }, { id: "raw" }),
          createOperation(emulator, "POST", "/_emulator/json", { body: json(z.object({})) }, { id: "control" }),
          createOperation(contracts, "POST", "/nothing", {}, { id: "nothing" }),
          createOperation(contracts, "PUT", "/upload", { body: stream({ maxBytes: 2 ** 30 }) }, { id: "upload" }),
          createOperation(contracts, "PUT", "/start", { body: stream({ maxBytes: 2 ** 30 }) }, { id: "start" }),
        ],
        handlers: {
          json: () => "json",
          raw: () => "raw",
          control: () => "control",
          nothing: () => "nothing",
          upload: async ({ body }: { body: AsyncIterable<Uint8Array> }) => {
            for await (const piece of body) uploaded += piece.byteLength;
            return uploaded;
          },
          start: async ({ body }: { body: AsyncIterable<Uint8Array> }) => {
            for await (const piece of body) return piece.byteLength;
          },
        },
        context: stateless,
      }),
    ],
    { wall },
  );
  return { ...server, wall, uploaded: () => uploaded };
}

/** Opens a connection that a test writes to in steps. */
async function openConnection(origin: string, method: string, target: string, length: number) {
  const { port, host } = new URL(origin);
  const socket = net.connect(Number(port), "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // The end of the connection can be reported as a reset if some sent bytes were not read.
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.write(
    `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
  );
  return {
    socket,
    closed,
    answer: () => parseResponse(Buffer.concat(chunks)),
    answers: () =>
      [
        ...Buffer.concat(chunks)
          .toString()
          .matchAll(/HTTP\/1\.1 (\d+)/g),
      ].map(([, status]) => Number(status)),
    hasAnswer: () => chunks.length > 0,
  };
}

/** Waits for an event that does not depend on the wall clock. */
async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await waitForIdle();
}

const timeoutMessage = "The request was not received in time.";

describe("slow request body", () => {
  for (const [target, body] of [
    ["/json", { detail: timeoutMessage }],
    ["/raw", { detail: timeoutMessage }],
    ["/_emulator/json", { error: { code: "request_timeout", message: timeoutMessage } }],
  ] as const) {
    it(`receives a 408 after two minutes at ${target}`, async (t) => {
      const { origin, wall, log, bugs } = await startUploadServer(t);
      const drip = await openConnection(origin, "POST", target, 100);
      drip.socket.write("{");
      await waitUntil(() => wall.sleeping.length > 0);
      await wall.pass(bodyTimeoutMs / 2);
      drip.socket.write('"');
      await wall.pass(bodyTimeoutMs / 2 - 1);
      assert.equal(drip.hasAnswer(), false);
      await wall.pass(1);
      await drip.closed;
      assert.deepEqual(drip.answer(), {
        status: 408,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      assert.deepEqual(
        log.list().map(({ status }) => status),
        [408],
      );
      assert.deepEqual(bugs, []);
    });
  }

  it("does not keep its connection open if no handler reads it", async (t) => {
    const { origin, wall } = await startUploadServer(t);
    const drip = await openConnection(origin, "POST", "/nothing", 100);
    await waitUntil(() => drip.hasAnswer() && wall.sleeping.length > 0);
    drip.socket.write("{");
    await wall.pass(bodyTimeoutMs);
    await drip.closed;
    assert.equal(drip.answer().status, 200);
  });

  it("leaves no timer after it ends", async (t) => {
    const { origin, wall } = await startUploadServer(t);
    const connection = await openConnection(origin, "POST", "/json", 9);
    connection.socket.write('{"a":');
    await waitUntil(() => wall.sleeping.length > 0);
    await wall.pass(bodyTimeoutMs - 1);
    connection.socket.write('"b"}');
    await waitUntil(connection.hasAnswer);
    await wall.pass(bodyTimeoutMs * 2);
    assert.deepEqual([connection.answer().status, connection.socket.destroyed], [200, false]);
    connection.socket.destroy();
  });
});

describe("upload", () => {
  it("has no time limit while it makes progress", async (t) => {
    const { origin, wall, uploaded } = await startUploadServer(t);
    const minutes = 30;
    const upload = await openConnection(origin, "PUT", "/upload", minutes * minPaceBytes);
    for (let minute = 1; minute <= minutes; minute += 1) {
      upload.socket.write(Buffer.alloc(minPaceBytes));
      await waitUntil(() => uploaded() === minute * minPaceBytes && wall.sleeping.length > 0);
      if (minute < minutes) await wall.pass(paceIntervalMs);
    }
    await waitUntil(upload.hasAnswer);
    assert.deepEqual([upload.answer().status, upload.answer().body], [200, String(minutes * minPaceBytes)]);
    upload.socket.destroy();
  });

  it("leaves its connection to the next request if only its start is read", async (t) => {
    const { origin } = await startUploadServer(t);
    const length = 1 << 20;
    const upload = await openConnection(origin, "PUT", "/start", length);
    upload.socket.write("1");
    await waitUntil(upload.hasAnswer);
    assert.deepEqual([upload.answer().status, upload.answer().body], [200, "1"]);
    upload.socket.write(Buffer.alloc(length - 1));
    upload.socket.write("POST /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    await upload.closed;
    assert.deepEqual(upload.answers(), [200, 200]);
  });

  it("is aborted without a bug report if it nearly stalls", async (t) => {
    const { origin, wall, uploaded, log, bugs } = await startUploadServer(t);
    const upload = await openConnection(origin, "PUT", "/upload", 100 * minPaceBytes);
    upload.socket.write(Buffer.alloc(minPaceBytes));
    await waitUntil(() => uploaded() === minPaceBytes && wall.sleeping.length > 0);
    await wall.pass(paceIntervalMs);
    upload.socket.write(Buffer.alloc(minPaceBytes - 1));
    await waitUntil(() => uploaded() === 2 * minPaceBytes - 1);
    await wall.pass(paceIntervalMs);
    await upload.closed;
    assert.equal(upload.hasAnswer(), false);
    await waitUntil(() => log.amount.count > 0);
    assert.deepEqual(
      log.list().map(({ status }) => status),
      [0],
    );
    assert.deepEqual(bugs, []);
  });
});

describe("slow request head", () => {
  it("receives a 408 at its timeout", async (t) => {
    // Node checks this timeout with the real clock.
    const { origin } = await startTestServer(t, [createPart({ operations: [], handlers: {}, context: stateless })], {
      bodyTimeouts: { ...defaultBodyReadTimeouts, headTimeoutMs: 20 },
    });
    const { port } = new URL(origin);
    const socket = net.connect(Number(port), "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ");
    await new Promise((resolve) => socket.on("close", resolve));
    assert.equal(parseResponse(Buffer.concat(chunks)).status, 408);
  });
});
