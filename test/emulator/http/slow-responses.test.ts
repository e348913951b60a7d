import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server } from "node:http";
import net from "node:net";
import { describe, it, type TestContext } from "node:test";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import { createPart } from "../../../emulator/http/handler.ts";
import { waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { bytes, createOperation, router } from "./made-up.ts";
import { createDeferred, startTestServer, stateless } from "./serving.ts";

/** Larger than the system's buffer for a client that does not read. */
const large = Buffer.alloc(32 * 1024 * 1024, "x");

/** Starts a listener with a large response, and counts its responses. Node measures with the real clock. */
async function startLargeResponseServer(t: TestContext, unreadResponseTimeoutMs?: number) {
  let count = 0;
  const respondWhole = () => {
    count += 1;
    return large;
  };
  async function* streamPieces() {
    for (let at = 0; at < large.length; at += 65_536) yield large.subarray(at, at + 65_536);
  }
  const responses = { 200: bytes("text/plain") };
  const server = await startTestServer(
    t,
    [
      createPart({
        operations: [
          createOperation(router, "GET", "/whole", {}, { id: "whole", responses }),
          createOperation(router, "GET", "/pieces", {}, { id: "pieces", responses }),
        ],
        handlers: { whole: respondWhole, pieces: streamPieces },
        context: stateless,
      }),
    ],
    { settings: { ...defaultSettings, ...(unreadResponseTimeoutMs && { unreadResponseTimeoutMs }) } },
  );
  return { ...server, countResponses: () => count };
}

/** Opens a connection that sends all requests at once and reads nothing until `read`. */
function openConnection(origin: string, target: string, requests = 1) {
  const { port, host } = new URL(origin);
  const socket = net.connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.pause();
  socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(requests));
  let received = 0;
  const read = () => socket.on("data", (chunk) => (received += chunk.length)).resume();
  return { socket, closed, read, received: () => received };
}

/** Waits for an event that does not depend on the wall clock. */
async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await waitForIdle();
}

/** Reports whether a message of Node's server is about this connection. */
const isOf = (origin: string, message: unknown): boolean => {
  const address = (message as { readonly server: Server }).server.address();
  return typeof address === "object" && address?.port === Number(new URL(origin).port);
};

/** Calls the listener with the server's connection of each request. */
function watchConnections(t: TestContext, origin: string, watch: (socket: net.Socket) => void): void {
  const onStart = (message: unknown) => {
    if (isOf(origin, message)) watch((message as { readonly socket: net.Socket }).socket);
  };
  subscribe("http.server.request.start", onStart);
  t.after(() => unsubscribe("http.server.request.start", onStart));
}

describe("unread response", () => {
  for (const target of ["/whole", "/pieces"]) {
    it(`closes its connection at ${target} after a limited time`, async (t) => {
      const { origin } = await startLargeResponseServer(t, 50);
      const closed = createDeferred();
      watchConnections(t, origin, (socket) => socket.once("close", closed.resolve));
      const caller = openConnection(origin, target);
      await closed.promise;
      caller.read();
      await caller.closed;
      assert.ok(caller.received() < large.length, String(caller.received()));
    });
  }

  it("is sent completely if the client starts to read in time", async (t) => {
    const { origin, countResponses } = await startLargeResponseServer(t);
    const caller = openConnection(origin, "/whole");
    await waitUntil(() => countResponses() > 0);
    caller.read();
    await waitUntil(() => caller.received() > large.length);
    assert.equal(caller.socket.destroyed, false);
    caller.socket.destroy();
  });

  it("delays the next pipelined response", async (t) => {
    const { origin, countResponses } = await startLargeResponseServer(t);
    const caller = openConnection(origin, "/whole", 3);
    await waitUntil(() => countResponses() > 0);
    for (let turn = 0; turn < 10; turn += 1) await waitForIdle();
    assert.equal(countResponses(), 1);
    caller.read();
    await waitUntil(() => caller.received() > 3 * large.length);
    assert.equal(countResponses(), 3);
    caller.socket.destroy();
  });
});

describe("slow response", () => {
  it("is not aborted before it contains data", async (t) => {
    const enough = createDeferred();
    const bothStarted = createDeferred();
    let waiting = 0;
    const begin = () => {
      waiting += 1;
      if (waiting === 2) bothStarted.resolve();
    };
    const { origin } = await startTestServer(t, [
      createPart({
        operations: [
          createOperation(router, "GET", "/slow", {}, { id: "slow" }),
          createOperation(router, "GET", "/pieces", {}, { id: "pieces", responses: { 200: bytes("text/plain") } }),
        ],
        handlers: {
          slow: async () => {
            begin();
            await enough.promise;
            return "made";
          },
          pieces: async function* () {
            yield Buffer.from("ma");
            begin();
            await enough.promise;
            yield Buffer.from("de");
          },
        },
        context: stateless,
      }),
    ]);
    const sockets: net.Socket[] = [];
    watchConnections(t, origin, (socket) => sockets.push(socket));
    const bodies = ["/slow", "/pieces"].map(async (path) => (await fetch(origin + path)).text());
    await bothStarted.promise;
    await waitForIdle();
    // Simulates Node's timeout event after `unreadResponseTimeoutMs` without traffic.
    for (const socket of sockets) socket.emit("timeout");
    enough.resolve();
    assert.deepEqual(await Promise.all(bodies), ['"made"', "made"]);
  });
});

/** Counts the maximum number of requests to a port that Node has read without a response. */
function countPendingRequests(t: TestContext, origin: string) {
  let now = 0;
  let most = 0;
  const isHere = (message: unknown) => isOf(origin, message);
  const onStart = (message: unknown) => {
    if (isHere(message)) now += 1;
    most = Math.max(most, now);
  };
  const onFinish = (message: unknown) => {
    if (isHere(message)) now -= 1;
  };
  subscribe("http.server.request.start", onStart);
  subscribe("http.server.response.finish", onFinish);
  t.after(() => {
    unsubscribe("http.server.request.start", onStart);
    unsubscribe("http.server.response.finish", onFinish);
  });
  return () => most;
}

describe("HTTP pipelining", () => {
  const readBytes = 65_536;

  for (const [size, requests] of [
    [2, 20_000],
    [100_000, 4_000],
  ] as const) {
    it(`limits pending requests to one socket read: ${requests} requests, responses of ${size} bytes`, async (t) => {
      const responseBody = Buffer.alloc(size, "x");
      const { origin } = await startTestServer(t, [
        createPart({
          operations: [createOperation(router, "GET", "/x", {}, { id: "x", responses: { 200: bytes("text/plain") } })],
          handlers: { x: () => responseBody },
          context: stateless,
        }),
      ]);
      const most = countPendingRequests(t, origin);
      const caller = openConnection(origin, "/x", requests);
      caller.read();
      await waitUntil(() => caller.received() > requests * size);
      caller.socket.destroy();
      const length = `GET /x HTTP/1.1\r\nhost: ${new URL(origin).host}\r\n\r\n`.length;
      // The first request of a read may have started in the previous read.
      assert.ok(most() > 1 && most() <= 2 + readBytes / length, String(most()));
    });
  }
});
