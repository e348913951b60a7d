import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import { parsePythonJson, toPlainValue } from "../../../emulator/http/bodies/python-json.ts";
import { createPart } from "../../../emulator/http/handler.ts";
import { Passthrough } from "../../../emulator/http/reply.ts";
import {
  contracts,
  createOperation,
  echo,
  emulator,
  form,
  json,
  jsonOrForm,
  passthrough,
  raw,
  router,
  z,
} from "./made-up.ts";
import { exchangeBytes, parseResponse, startTestServer, stateless } from "./serving.ts";

const schema = z.object({ a: z.array(z.string()), b: z.record(z.string(), z.int()).optional() });
const paths = ["/made", "/form", "/either", "/_emulator/made", "/other", "/contracts"];

/** Starts one listener with an operation for each way to read a body. */
const startAllOperations = (t: TestContext) =>
  startTestServer(t, [
    createPart({
      operations: [
        createOperation(router, "POST", "/made", { body: json(schema) }, { id: "json" }),
        createOperation(router, "POST", "/form", { body: form(z.object({ a: z.string() })) }, { id: "form" }),
        createOperation(router, "POST", "/either", { body: jsonOrForm(z.object({ a: z.string() })) }, { id: "either" }),
        createOperation(emulator, "POST", "/_emulator/made", { body: json(schema) }, { id: "control" }),
        createOperation(contracts, "POST", "/contracts", { body: json(schema) }, { id: "contract" }),
        createOperation(
          router,
          ["GET", "POST"],
          "/{full_path}",
          { params: z.object({ full_path: z.string() }), body: raw() },
          { id: "catch-all", responses: { 200: passthrough() } },
        ),
      ],
      handlers: {
        json: echo,
        form: echo,
        either: echo,
        control: echo,
        contract: echo,
        "catch-all": () => new Passthrough(200, [], Buffer.from("ok")),
      },
      context: stateless,
    }),
  ]);

const alphabet = [...'{}[]",:\\u0123456789abef.-+eE ntrl\n\t_é😀\ud800%=&;'];
const almostJson = fc.oneof(
  fc.json(),
  fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 40 }),
  fc
    .tuple(fc.json(), fc.nat(200), fc.constantFrom(...alphabet))
    .map(([text, at, letter]) => text.slice(0, at) + letter),
);
const types = [
  "application/json",
  "application/vnd.x+json; charset=latin1",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "text/plain",
  "/",
  ";",
  "multipart/form-data; boundary=",
];

describe("server under hostile input", () => {
  it("responds to any body with a status below 500 and no bug", async (t) => {
    const { send, bugs } = await startAllOperations(t);
    const body = fc.oneof(
      almostJson.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.constantFrom(...types), body, async (path, type, bytes) => {
        const { status } = await send("POST", path, { headers: { "content-type": type }, body: bytes });
        assert.ok(
          [200, 400, 415, 422].includes(status),
          `${path} ${type} ${JSON.stringify(bytes.toString())}: ${status}`,
        );
      }),
      { numRuns: 400 },
    );
    assert.deepEqual(bugs, []);
  });

  it("responds to any target or header with a status below 500 and no bug", async (t) => {
    const { origin, bugs } = await startAllOperations(t);
    const piece = fc.constantFrom(
      "/",
      "..",
      "%2F",
      "%",
      "%ff",
      "%00",
      "%zz",
      "?",
      "&a=",
      "made",
      "_emulator",
      "é",
      "#",
      "*",
      ":",
      "%f0%9f",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.string({ maxLength: 20 }), async (pieces, value) => {
        const header = Buffer.from(value.replace(/[\r\n\0]/g, " "));
        const response = parseResponse(
          await exchangeBytes(origin, [
            Buffer.from(`GET /${pieces.join("")} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-a: `),
            header,
            "\r\n\r\n",
          ]),
        );
        assert.ok(response.status >= 200 && response.status < 500, `${pieces.join("")}: ${response.status}`);
      }),
      { numRuns: 300 },
    );
    assert.deepEqual(bugs, []);
  });
});

describe("exact JSON parser", () => {
  it("accepts every document that JSON.parse accepts, with the same values", () => {
    fc.assert(
      fc.property(almostJson, (text) => {
        // Python accepts number words that JSON does not include.
        fc.pre(!/NaN|Infinity/.test(text));
        assert.deepEqual(
          parseOrReject(() => toPlainValue(parsePythonJson(text))),
          parseOrReject(() => JSON.parse(text)),
        );
      }),
      { numRuns: 3_000 },
    );
  });
});

function parseOrReject(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch {
    return "refused";
  }
}
