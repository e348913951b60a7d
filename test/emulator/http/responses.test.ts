import assert from "node:assert/strict";
import { createRequire } from "node:module";
import net from "node:net";
import { describe, it } from "node:test";
import { createPart } from "../../../emulator/http/handler.ts";
import { Passthrough, reply } from "../../../emulator/http/reply.ts";
import { StoreFailedError } from "../../../emulator/store/port.ts";
import { fail } from "../../../src/api/failures.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import {
  bytes,
  contracts,
  createOperation,
  createSingleOperationPart,
  empty,
  emulator,
  events,
  html,
  json,
  passthrough,
  raw,
  redirect,
  router,
  type TestHandler,
  z,
} from "./made-up.ts";
import { createDeferred, exchangeBytes, now, parseResponse, startTestServer, stateless } from "./serving.ts";

const jsonType = { "content-type": "application/json" };
const strict = { 200: json(z.strictObject({ a: z.string(), b: z.int().optional() })) };

const createRespondingPart = (
  responses: ReturnType<typeof createOperation>["responses"],
  handler: TestHandler,
  service = router as never,
) => createSingleOperationPart(createOperation(service, "GET", "/made", {}, { responses }), handler);

describe("HTTP response", () => {
  it("is JSON without a charset, in declared order, with both timestamps", async (t) => {
    const { origin } = await startTestServer(t, [createRespondingPart(strict, () => ({ b: 1, a: "é" }))]);
    const response = await fetch(`${origin}/made`);
    assert.equal(await response.text(), '{"a":"é","b":1}');
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("x-svc-time"), toIsoMillis(now));
    assert.notEqual(new Date(response.headers.get("date")!).getUTCFullYear(), 2031);
  });

  for (const [kind, response, result, expected] of [
    ["an empty 204", { 204: empty() }, undefined, { status: 204, headers: {}, body: "" }],
    ["an empty 200", { 200: empty() }, undefined, { status: 200, headers: {}, body: "" }],
    [
      "an HTML page",
      { 200: html() },
      "<p>é</p>",
      {
        status: 200,
        headers: { "content-security-policy": "sandbox", "content-type": "text/html; charset=utf-8" },
        body: "<p>é</p>",
      },
    ],
    [
      "bytes",
      { 200: bytes("application/pdf") },
      Buffer.from("%PDF"),
      { status: 200, headers: { "content-type": "application/pdf" }, body: "%PDF" },
    ],
    [
      "a redirect",
      { 302: redirect() },
      "https://app.example/é?x=1\r\nset-cookie: a=b",
      { status: 302, headers: { location: "https://app.example/%C3%A9?x=1%0D%0Aset-cookie:%20a=b" }, body: "" },
    ],
    [
      "one of several statuses with custom headers",
      { 200: json(z.string()), 201: json(z.string()) },
      reply(201, "made" as never, { "x-a": "b", "content-type": "application/hal+json" }),
      { status: 201, headers: { "x-a": "b", "content-type": "application/hal+json" }, body: '"made"' },
    ],
    [
      "another server's response without its connection headers",
      { 200: passthrough() },
      new Passthrough(
        418,
        [
          "Set-Cookie",
          "a=1",
          "X-A",
          "b",
          "connection",
          "x-a",
          "keep-alive",
          "1",
          "X-SVC-Time",
          "0",
          "Content-Length",
          "2",
        ],
        Buffer.from("no"),
      ),
      { status: 418, headers: { "set-cookie": "a=1" }, body: "no" },
    ],
  ] as const) {
    it(`can be ${kind}`, async (t) => {
      const { send, bugs } = await startTestServer(t, [createRespondingPart(response, () => result)]);
      assert.deepEqual(await send("GET", "/made"), expected);
      assert.deepEqual(bugs, []);
    });
  }

  it("has one length and one virtual time, whatever the upstream server sent", async (t) => {
    const rawHeaders = ["X-SVC-Time", "0", "Content-Length", "2"];
    const { origin } = await startTestServer(t, [
      createRespondingPart({ 200: passthrough() }, () => new Passthrough(200, rawHeaders, Buffer.from("no"))),
    ]);
    const text = String(
      await exchangeBytes(origin, ["GET /made HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"]),
    );
    const lines = text.toLowerCase().split("\r\n");
    assert.deepEqual(
      lines.filter((line) => /^(x-svc-time|content-length):/.test(line)),
      ["content-length: 2", `x-svc-time: ${toIsoMillis(now).toLowerCase()}`],
    );
  });

  it("closes its connection if its stream fails", async (t) => {
    async function* streamPieces() {
      yield Buffer.from("one,");
      yield Buffer.from("two");
    }
    async function* broken() {
      yield Buffer.from("one,");
      throw new Error("upstream reset");
    }
    const unmodified = await startTestServer(t, [createRespondingPart({ 200: bytes("text/plain") }, streamPieces)]);
    assert.equal(await (await fetch(`${unmodified.origin}/made`)).text(), "one,two");
    const cutServer = await startTestServer(t, [
      createRespondingPart({ 200: passthrough() }, () => new Passthrough(200, [], broken())),
    ]);
    await assert.rejects(async () => (await fetch(`${cutServer.origin}/made`)).text());
  });

  it("can be an event stream until the client disconnects or the listener closes", async (t) => {
    const endings: string[] = [];
    const list = createOperation(
      emulator,
      "GET",
      "/_emulator/made",
      {},
      { id: "made.list", responses: { 200: json(z.string()) } },
    );
    const watch = createOperation(
      emulator,
      "GET",
      "/_emulator/made/events",
      {},
      { id: "made.watch", responses: { 200: events(z.any()) } },
    );
    const { origin, listener } = await startTestServer(t, [
      createPart({
        operations: [list, watch],
        handlers: {
          "made.list": () => "the list",
          "made.watch": async function* (_: never, { request: { signal } }) {
            yield { n: 1 };
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            endings.push("watch");
          },
        },
        context: stateless,
      }),
    ]);
    assert.equal(await (await fetch(`${origin}/_emulator/made`)).json(), "the list");
    const accept = { headers: { accept: "text/event-stream" } };
    const streams = await Promise.all([
      fetch(`${origin}/_emulator/made`, accept),
      fetch(`${origin}/_emulator/made`, accept),
    ]);
    const readers = streams.map(({ body }) => body!.getReader());
    for (const reader of readers) {
      const { value } = await reader.read();
      assert.equal(Buffer.from(value!).toString(), 'data: {"n":1}\n\n');
    }
    assert.equal(streams[0]!.headers.get("content-type"), "text/event-stream");
    await readers[0]!.cancel();
    await listener.close();
    assert.deepEqual(await readers[1]!.read(), { done: true, value: undefined });
    assert.deepEqual(endings, ["watch", "watch"]);
  });
});

describe("error handling of emulator bugs", () => {
  const words = "The emulator has a bug in made.get. This is not a response of the service. See its stderr.";
  const undeclared = createOperation(router, "GET", "/made", {}, { responses: strict });
  for (const [label, operation, handler, message] of [
    ["an undeclared field", undeclared, () => ({ a: "x", c: 1 }), "The response is not as declared"],
    ["an undeclared failure", undeclared, () => fail("not-found"), "It fails with not-found, which is undeclared"],
    ["an undeclared status", undeclared, () => reply(201 as never, {} as never), "Status 201 is not declared"],
    [
      "an unexpected exception",
      undeclared,
      () => (undefined as never as { x: { y: 1 } }).x.y,
      "Cannot read properties of undefined (reading 'x')",
    ],
    [
      "a missing choice among several statuses",
      { ...undeclared, responses: { 200: empty(), 204: empty() } },
      () => undefined,
      "Several statuses are declared: the handler must choose with reply()",
    ],
    [
      "an invalid header",
      undeclared,
      () => reply(200 as never, { a: "x" } as never, { "x-a": "b\r\nc: d" }),
      'Invalid character in header content ["x-a"]',
    ],
  ] as const) {
    it(`reports ${label} without sending details to the client`, async (t) => {
      const { send, bugs } = await startTestServer(t, [createSingleOperationPart(operation, handler)]);
      assert.deepEqual(await send("GET", "/made"), {
        status: 500,
        headers: jsonType,
        body: JSON.stringify({ detail: words }),
      });
      assert.deepEqual(
        bugs.map(({ operation, message }) => ({ operation, message })),
        [{ operation: "made.get", message }],
      );
    });
  }
});

it("a program that was updated while it runs responds that the emulator must be restarted", async (t) => {
  const operation = createOperation(router, "GET", "/made", {}, { responses: { 200: empty() } });
  const handler = () => void createRequire(import.meta.url)("./removed.cjs");
  const { send } = await startTestServer(t, [createSingleOperationPart(operation, handler)]);
  const detail = "A file of the emulator's program is missing. If the program was updated, restart the emulator.";
  assert.deepEqual(await send("GET", "/made"), { status: 500, headers: jsonType, body: JSON.stringify({ detail }) });
});

describe("failing disk", () => {
  for (const [service, failure, body] of [
    [router, "store-failed", '{"detail":"The service cannot write its state"}'],
    [contracts, "contracts-store-failed", '{"detail":"The service cannot write its state."}'],
    [
      emulator,
      "control-store-failed",
      '{"error":{"code":"store_failed","message":"The emulator cannot write its state.","hint":"Nothing was changed. Free space on its disk, or fix the permissions of its files or database. Its log has the reason. It continues when it can write again."}}',
    ],
  ] as const) {
    it(`causes a 503 response in the format of ${service.name}`, async (t) => {
      const path = service === emulator ? "/_emulator/made" : "/made";
      const refuse = () => {
        throw new StoreFailedError("disk full");
      };
      const { send, log } = await startTestServer(t, [
        createSingleOperationPart(createOperation(service, "GET", path), refuse),
      ]);
      assert.deepEqual(await send("GET", path), {
        status: 503,
        headers: { ...jsonType, "x-svc-unchanged": "true" },
        body,
      });
      assert.equal(log.list()[0]!.failure, failure);
    });
  }
});

describe("order of request checks", () => {
  const operation = (service: typeof router | typeof contracts) =>
    createOperation(
      service as never,
      "POST",
      "/made",
      { body: json(z.object({ a: z.string() })) },
      { auth: "basic", failures: ["not-authenticated"] as never },
    );
  const parts = (service: typeof router | typeof contracts) =>
    [
      createPart({
        operations: [operation(service)],
        handlers: { "made.post": () => "in" },
        context: stateless,
        authenticate: { basic: ({ headers }) => headers.authorization ?? fail("not-authenticated") },
      }),
    ] as const;
  const sends = [
    { headers: jsonType, body: "{" },
    { headers: jsonType, body: "{}" },
    { headers: { ...jsonType, authorization: "x" }, body: "{" },
    { headers: { ...jsonType, authorization: "x" }, body: "{}" },
    { headers: { ...jsonType, authorization: "x" }, body: '{"a":"b"}' },
  ];

  for (const [service, statuses] of [
    [router, [422, 401, 422, 422, 200]],
    [contracts, [401, 401, 400, 400, 200]],
  ] as const) {
    it(`matches the documented order of ${service.name}`, async (t) => {
      const { send } = await startTestServer(t, parts(service));
      const actual = [];
      for (const sent of sends) actual.push((await send("POST", "/made", sent)).status);
      assert.deepEqual(actual, statuses);
    });
  }
});

describe("disconnected client", () => {
  it("is detected by a waiting handler and recorded in the log", async (t) => {
    const started = createDeferred();
    const callerLeft = createDeferred();
    const waits: TestHandler = async (_, { request: { signal } }) => {
      started.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      callerLeft.resolve();
      return "late";
    };
    const { origin, bugs } = await startTestServer(t, [createRespondingPart({ 200: json(z.string()) }, waits)]);
    const abort = new AbortController();
    const abortedRequest = fetch(`${origin}/made`, { signal: abort.signal }).catch(() => "aborted");
    await started.promise;
    abort.abort();
    await callerLeft.promise;
    assert.equal(await abortedRequest, "aborted");
    assert.deepEqual(bugs, []);
  });

  it("receives no response and reaches no handler if its body is incomplete", async (t) => {
    let ran = false;
    const operation = createOperation(router, "POST", "/made", { body: raw() });
    const { origin, log } = await startTestServer(t, [
      createSingleOperationPart(operation, () => {
        ran = true;
      }),
    ]);
    const logged = new Promise((resolve) => log.watch(resolve));
    const { port, hostname } = new URL(origin);
    const socket = net.connect(Number(port), hostname, () => {
      const head = "POST /made HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n";
      socket.write(`${head}abc`, () => socket.destroy());
    });
    await logged;
    assert.equal(ran, false);
    assert.deepEqual(
      log.list().map(({ status }) => status),
      [0],
    );
  });

  it("receives a 400 if its request is not HTTP", async (t) => {
    const { origin } = await startTestServer(t, [createRespondingPart(strict, () => ({ a: "x" }))]);
    assert.equal(parseResponse(await exchangeBytes(origin, ["hello\r\n\r\n"])).status, 400);
  });
});
