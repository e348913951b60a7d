import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPart } from "../../../emulator/http/handler.ts";
import { Passthrough } from "../../../emulator/http/reply.ts";
import { storage } from "../../../src/api/services.ts";
import {
  contracts,
  createOperation,
  createSingleOperationPart,
  echo,
  emulator,
  passthrough,
  raw,
  router,
  z,
} from "./made-up.ts";
import { startTestServer, stateless } from "./serving.ts";

const params = { params: z.object({ name: z.string() }) };
const catchAll = createOperation(
  router,
  ["GET", "POST", "PUT", "PATCH", "DELETE"],
  "/{full_path}",
  { params: z.object({ full_path: z.string() }), body: raw() },
  { id: "catch-all", responses: { 200: passthrough() } },
);
const respondWithParameters = ({ params }: { params: unknown }) =>
  new Passthrough(200, [], Buffer.from(JSON.stringify(params)));

/** A router with one named path, the catch-all, and a control plane with one path. */
const createRouterParts = () =>
  [
    createPart({
      operations: [
        createOperation(router, "GET", "/things/{name}", params, { id: "things.get" }),
        createOperation(router, "POST", "/things/{name}", params, { id: "things.post" }),
        catchAll,
      ],
      handlers: { "things.get": echo, "things.post": echo, "catch-all": respondWithParameters },
      context: stateless,
    }),
    createSingleOperationPart(
      createOperation(emulator, "GET", "/_emulator/clock", {}, { id: "clock.show" }),
      () => "tick",
    ),
  ] as const;

describe("router path", () => {
  for (const [target, name] of [
    ["/things/a%20b%C3%A9+c", "a bé+c"],
    ["/things/%zz%", "%zz%"],
    ["/things/%ff", "\ufffd"],
    ["/things/%3Fx%23y?z=1", "?x#y"],
    ["/things/...", "..."],
    [`/things/${"t".repeat(9_000)}`, "t".repeat(9_000)],
    ["http://127.0.0.1/things/x", "x"],
  ] as const) {
    it(`is decoded before matching: ${target.slice(0, 40)}`, async (t) => {
      const { send } = await startTestServer(t, createRouterParts());
      const response = await send("GET", target);
      assert.equal(response.headers["x-svc-matched"], undefined);
      assert.deepEqual(JSON.parse(response.body).params, { name });
    });
  }

  for (const [method, target, full_path] of [
    ["GET", "/things/a%2Fb", "things/a/b"],
    ["GET", "/things/", "things/"],
    ["GET", "//things/x", "/things/x"],
    ["GET", "/Things/x", "Things/x"],
    ["GET", "/things/x/", "things/x/"],
    ["PUT", "/things/x", "things/x"],
    ["DELETE", "/", ""],
    ["GET", "/things/../../things/x/?y=../z", "things/x/"],
    ["GET", "/%5f_emulator%00", "__emulator\0"],
    ["GET", "/_emulators", "_emulators"],
  ] as const) {
    it(`reaches the catch-all if it is unmatched: ${method} ${target}`, async (t) => {
      const { send } = await startTestServer(t, createRouterParts());
      const response = await send(method, target);
      assert.deepEqual(response, {
        status: 200,
        headers: { "x-svc-matched": "catch-all" },
        body: JSON.stringify({ full_path }),
      });
    });
  }

  for (const [method, target, allow] of [
    ["HEAD", "/things/x", "GET"],
    ["OPTIONS", "/things/x", "GET"],
    ["TRACE", "/nothing/here", "DELETE, GET, PATCH, POST, PUT"],
    ["PROPFIND", "/nothing/here", "DELETE, GET, PATCH, POST, PUT"],
    ["OPTIONS", "*", "DELETE, GET, PATCH, POST, PUT"],
  ] as const) {
    it(`returns 405 for ${method} ${target}`, async (t) => {
      const { send } = await startTestServer(t, createRouterParts());
      assert.deepEqual(await send(method, target), {
        status: 405,
        headers: { "content-type": "application/json", allow },
        body: method === "HEAD" ? "" : '{"detail":"Method Not Allowed"}',
      });
    });
  }
});

describe("control plane path", () => {
  it("never reaches the catch-all", async (t) => {
    const { send } = await startTestServer(t, createRouterParts());
    assert.deepEqual(await send("GET", "/_emulator/clok"), {
      status: 404,
      headers: { "content-type": "application/json", "x-svc-nearest": "clock.show GET /_emulator/clock" },
      body: JSON.stringify({
        error: {
          code: "not_found",
          message: "Path not found in the control plane.",
          hint: "Nearest: clock.show GET /_emulator/clock",
        },
      }),
    });
    assert.equal((await send("GET", "/%5Femulator/nowhere")).status, 404);
    assert.deepEqual(await send("PUT", "/_emulator/clock"), {
      status: 405,
      headers: { "content-type": "application/json", allow: "GET" },
      body: JSON.stringify({
        error: { code: "method_not_allowed", message: "Method PUT is not allowed.", hint: "Allowed: GET" },
      }),
    });
  });
});

describe("contract API path", () => {
  const operations = [
    createOperation(contracts, "GET", "/api/v2.1/public/contracts/{id}/status", {
      params: z.object({ id: z.string() }),
    }),
    createOperation(contracts, "POST", "/api/v2.1/public/contracts/", {}, { id: "made.post" }),
  ];
  const parts = () =>
    [createPart({ operations, handlers: { "made.get": echo, "made.post": echo }, context: stateless })] as const;

  for (const [method, target, location] of [
    ["POST", "/api/v2.1/public/contracts?x=%20", "/api/v2.1/public/contracts/?x=%20"],
    ["DELETE", "/api/v2.1/public/contracts", "/api/v2.1/public/contracts/"],
    [
      "GET",
      "/api/v2.1/public/contracts/T%20é/status/".replace("é", "%C3%A9"),
      "/api/v2.1/public/contracts/T%20%C3%A9/status",
    ],
  ] as const) {
    it(`redirects ${method} ${target} to the documented spelling`, async (t) => {
      const { send } = await startTestServer(t, parts());
      assert.deepEqual(await send(method, target), { status: 302, headers: { location }, body: "" });
    });
  }

  it("is served with and without a slash if slashes are lenient", async (t) => {
    const { send, log } = await startTestServer(t, parts(), { settings: { strict: new Set(), lenientSlashes: true } });
    const response = await send("GET", "/api/v2.1/public/contracts/T-1/status/");
    assert.deepEqual(JSON.parse(response.body).params, { id: "T-1" });
    await send("GET", "/api/v2.1/public/contracts/T-1/status");
    assert.deepEqual(
      log.list().map(({ findings }) => findings),
      [[{ code: "other-slash", detail: "the service redirects to /api/v2.1/public/contracts/T-1/status" }], []],
    );
  });

  it("lists its allowed methods", async (t) => {
    const { send, log } = await startTestServer(t, parts());
    assert.deepEqual(await send("PATCH", "/api/v2.1/public/contracts/"), {
      status: 405,
      headers: { "content-type": "application/json", allow: "POST" },
      body: '{"detail":"Method \\"PATCH\\" not allowed."}',
    });
    assert.equal((await send("HEAD", "/api/v2.1/public/contracts/T-1/status")).status, 405);
    assert.deepEqual(
      log.list().map(({ failure }) => failure),
      ["method-not-allowed", "method-not-allowed"],
    );
  });

  it("returns a suggestion if it is unknown", async (t) => {
    const { send, log } = await startTestServer(t, parts());
    assert.deepEqual(await send("GET", "/api/v2/public/contract/T-1/status"), {
      status: 404,
      headers: {
        "content-type": "application/json",
        "x-svc-nearest": "made.get GET /api/v2.1/public/contracts/{id}/status",
      },
      body: '{"detail":"Not found."}',
    });
    assert.deepEqual(await send("GET", "/nothing/like/it/at/all/anywhere"), {
      status: 404,
      headers: { "content-type": "application/json" },
      body: '{"detail":"Not found."}',
    });
    assert.deepEqual(
      log.list().map(({ operation, status }) => ({ operation, status })),
      [
        { operation: undefined, status: 404 },
        { operation: undefined, status: 404 },
      ],
    );
  });

  it("is handled by the fallback of its listener before a 404 if no operation matches", async (t) => {
    const { send } = await startTestServer(t, parts(), {
      fallback: ({ method, target, body }) =>
        target.startsWith("/api/") ? undefined : new Passthrough(201, ["x-a", "b"], Buffer.from(`${method} ${body}`)),
    });
    assert.deepEqual(await send("PUT", "/anything", { body: "hello" }), {
      status: 201,
      headers: { "x-a": "b" },
      body: "PUT hello",
    });
    assert.equal((await send("PUT", "/api/v9")).status, 404);
  });
});

describe("signed storage URL", () => {
  it("allows a CORS preflight before an upload, with the headers of tracing libraries", async (t) => {
    const operation = createOperation(storage, "PUT", "/_storage/{key}", { params: z.object({ key: z.string() }) });
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    assert.deepEqual(await send("OPTIONS", "/_storage/x", { headers: { origin: "https://app.example" } }), {
      status: 204,
      headers: {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "PUT",
        "access-control-allow-headers": "*",
        "access-control-max-age": "600",
      },
      body: "",
    });
  });
});

describe("request parameter", () => {
  const operation = createOperation(router, "GET", "/made", {
    query: z.object({
      count: z.int().optional(),
      price: z.number().optional(),
      open: z.boolean().optional(),
      tags: z.array(z.string()).optional(),
      sizes: z.array(z.int()).optional(),
      word: z.string().optional(),
    }),
    headers: z.object({ "x-limit": z.int().optional() }),
  });

  it("is converted to its schema type, with the last value if repeated", async (t) => {
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const target = "/made?count=1&count=%202%20&price=1.5&open=YES&tags=a&tags=b&sizes=1_000&word=07&other=1";
    const response = await send("GET", target, { headers: { "x-limit": "9", "x-other": "1" } });
    assert.deepEqual(JSON.parse(response.body), {
      params: {},
      query: { count: 2, price: 1.5, open: true, tags: ["a", "b"], sizes: [1000], word: "07" },
      headers: { "x-limit": 9 },
    });
  });

  it("is rejected as in pydantic, the query before headers", async (t) => {
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, echo)]);
    const response = await send("GET", "/made?count=1.5&price=x&open=maybe&sizes=1&sizes=y", {
      headers: { "x-limit": "z" },
    });
    assert.deepEqual(
      JSON.parse(response.body).detail.map(({ type, loc, input }: Record<string, unknown>) => ({ type, loc, input })),
      [
        { type: "int_parsing", loc: ["query", "count"], input: "1.5" },
        { type: "float_parsing", loc: ["query", "price"], input: "x" },
        { type: "bool_parsing", loc: ["query", "open"], input: "maybe" },
        { type: "int_parsing", loc: ["query", "sizes", 1], input: "y" },
        { type: "int_parsing", loc: ["header", "x-limit"], input: "z" },
      ],
    );
  });
});
