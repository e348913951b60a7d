import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPart } from "../../../emulator/http/handler.ts";
import { createSender } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createOperation, router } from "./made-up.ts";
import { createDeferred, exchangeBytes, parseResponse, startTestServer, stateless } from "./serving.ts";

describe("listener during a handover", () => {
  it("responds to pending requests, then rejects pipelined ones", async (t) => {
    const [started, enough] = [createDeferred(), createDeferred()];
    const { origin, listener, log } = await startTestServer(
      t,
      [
        createPart({
          operations: [createOperation(router, "GET", "/slow", {}, { id: "slow" })],
          handlers: {
            slow: async () => {
              started.resolve();
              await enough.promise;
              return "served";
            },
          },
          context: stateless,
        }),
      ],
      { isShared: true },
    );
    const { host } = new URL(origin);
    const get = (more: string) => `GET /slow HTTP/1.1\r\nhost: ${host}\r\n${more}\r\n`;
    const exchange = exchangeBytes(origin, [get(""), get("connection: close\r\n")]);
    await started.promise;
    const handedOver = listener.handOver().then(() => log.list().length);
    enough.resolve();
    const served = await handedOver;
    const responses = await exchange;
    const behind = responses.indexOf("HTTP/1.1 503");
    const [first, second] = [parseResponse(responses.subarray(0, behind)), parseResponse(responses.subarray(behind))];
    assert.deepEqual(
      { served, first: [first.status, first.body], second: [second.status, second.headers] },
      {
        served: 1,
        first: [200, '"served"'],
        second: [503, { "content-type": "application/json", "x-svc-not-leading": "1", "retry-after": "1" }],
      },
    );
  });

  it("closes the connections of rejected requests, so that none is open when it ends", async (t) => {
    const { origin, listener } = await startTestServer(
      t,
      [
        createPart({
          operations: [createOperation(router, "GET", "/now", {}, { id: "now" })],
          handlers: { now: () => "served" },
          context: stateless,
        }),
      ],
      { isShared: true },
    );
    const send = createSender(origin);
    const served = await send("GET", "/now");
    await listener.handOver();
    const rejected = await send("GET", "/now");
    assert.deepEqual(
      [served, rejected].map(({ status, headers }) => [status, headers.get("connection")]),
      [
        [200, "keep-alive"],
        [503, "close"],
      ],
    );
  });
});

describe("listener without a leader", () => {
  it("holds an upload that is too large to repeat until there is a leader", async (t) => {
    const leader = await startReceiver(t);
    const operations = [createOperation(router, "POST", "/upload", {}, { id: "upload" })] as const;
    const own = createPart({ operations, handlers: { upload: () => "own" }, context: stateless });
    const { origin, listener } = await startTestServer(t, [own], { isShared: true });
    const leaders = [undefined, { url: new URL(leader.url).origin, key: "term" }];
    listener.startStandby({ parts: [], findLeader: () => leaders.shift() });
    const upload = "x".repeat(2 << 20);
    const { status } = await createSender(origin)("POST", "/upload", { body: upload });
    assert.deepEqual([status, leader.received.map(({ body }) => String(body) === upload)], [200, [true]]);
  });

  it("sends a write again if the address of the leader is unreachable", async (t) => {
    const leader = await startReceiver(t);
    const operations = [createOperation(router, "POST", "/write", {}, { id: "write" })] as const;
    const own = createPart({ operations, handlers: { write: () => "own" }, context: stateless });
    const { origin, listener } = await startTestServer(t, [own], { isShared: true });
    const leaders = ["http://leader.invalid:4010", leader.url].map((url) => ({ url, key: "term" }));
    listener.startStandby({ parts: [], findLeader: () => (leaders.length > 1 ? leaders.shift() : leaders[0]) });
    const { status } = await createSender(origin)("POST", "/write", { body: "x" });
    assert.deepEqual([status, leader.received.length], [200, 1]);
  });

  it("does not wait for a leader that hangs once another process leads", async (t) => {
    const [hanging, next] = [await startReceiver(t), await startReceiver(t)];
    const operations = [
      createOperation(router, "GET", "/read", {}, { id: "read" }),
      createOperation(router, "POST", "/write", {}, { id: "write" }),
    ] as const;
    const handlers = { read: () => "own", write: () => "own" };
    const own = createPart({ operations, handlers, context: stateless });
    const { origin, listener } = await startTestServer(t, [own], { isShared: true });
    let leader = { url: hanging.url, key: "first" };
    hanging.respond(() => {
      if (hanging.received.length === 2) leader = { url: next.url, key: "second" };
    });
    listener.startStandby({ parts: [], findLeader: () => leader });
    const send = createSender(origin);
    const [read, write] = await Promise.all([send("GET", "/read"), send("POST", "/write", { body: "x" })]);
    assert.deepEqual([read.status, write.status, next.received.map(({ method }) => method)], [200, 503, ["GET"]]);
  });
});
