import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import {
  bytes,
  empty,
  events,
  html,
  json,
  type Operation,
  passthrough,
  type ResponseBody,
  redirect,
} from "../../src/api/operation.ts";
import { contracts, router } from "../../src/api/services.ts";
import { parseProblem } from "../../src/client/body.ts";
import { InvalidResponseError, MisroutedRequestError, ServiceError } from "../../src/client/errors.ts";
import { parseServerSentEvents } from "../../src/client/event-stream.ts";
import { readBodyText, readResponse } from "../../src/client/response.ts";

const declare = (response: ResponseBody, service: Operation["service"] = contracts): Operation => ({
  id: "things.show",
  service,
  summary: "Show a thing",
  method: "GET",
  path: "/things",
  auth: "none",
  request: {},
  responses: { 200: response },
  failures: [],
  cli: { command: "things show" },
  basis: "specified",
  examples: [],
});

async function* streamPieces(...texts: (string | Uint8Array)[]) {
  for (const text of texts) yield Buffer.from(text);
}

const readBody = (
  response: ResponseBody,
  status: number,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  service?: Operation["service"],
  method: "GET" | "POST" | "DELETE" = "GET",
) =>
  readResponse(
    { ...declare(response, service), method },
    { method, url: "http://svc.example/things?secret=1", headers: {}, body: undefined },
    { status, headers, body: streamPieces(body) },
  );

const drainItems = async (items: unknown): Promise<void> => {
  for await (const _ of items as AsyncIterable<unknown>);
};

const Thing = z.strictObject({ id: z.int(), owner: z.strictObject({ name: z.string() }) });

describe("response validation", () => {
  it("returns the received value and lists differences from the declaration", async () => {
    const response = await readBody(json(Thing), 200, '{"id":"7","owner":{"name":"Jo","age":9},"new":true}');
    assert.deepEqual(response.value, { id: "7", owner: { name: "Jo", age: 9 }, new: true });
    assert.deepEqual(
      response.drift.map((line) => line.split(":")[0]),
      ["id", "owner.age", "new"],
    );
  });

  it("reports no drift for a response that matches", async () => {
    const response = await readBody(json(Thing), 200, '{"id":7,"owner":{"name":"Jo"}}');
    assert.deepEqual(response.drift, []);
  });

  it("reports a union as unreadable only if no member matches", async () => {
    const Either = z.union([z.strictObject({ items: z.array(z.int()) }), z.array(z.int())]);
    const problems = ['{"items":[1]}', "[1]", '{"items":"1"}', '{"items":[1],"new":true}'].map(async (body) => {
      const { shapeProblem } = await readBody(json(Either), 200, body);
      return shapeProblem?.split(":")[0];
    });
    assert.deepEqual(await Promise.all(problems), [undefined, undefined, "the response", undefined]);
  });

  for (const [label, body] of [
    ["HTML", "<html>login</html>"],
    ["text that is not JSON", '{"id":'],
  ] as const) {
    it(`rejects ${label} as JSON`, async () => {
      await assert.rejects(
        readBody(json(Thing), 200, body),
        (error) => error instanceof InvalidResponseError && error.message.includes(label),
      );
    });
  }

  it("accepts every 2xx and reports the differences", async () => {
    const outcomes = [
      await readBody(json(Thing), 201, '{"id":7,"owner":{"name":"Jo"}}'),
      await readBody(json(Thing), 204, ""),
      await readBody(json(Thing), 200, "created", {}, contracts, "POST"),
      await readBody(empty(), 202, '{"id":7}'),
    ];
    assert.deepEqual(
      outcomes.map(({ status, value, drift, shapeProblem }) => ({ status, value, drift, shapeProblem })),
      [
        {
          status: 201,
          value: { id: 7, owner: { name: "Jo" } },
          drift: ["status 201 instead of 200"],
          shapeProblem: undefined,
        },
        {
          status: 204,
          value: undefined,
          drift: ["status 204 instead of 200", "an empty body instead of JSON"],
          shapeProblem: "an empty body instead of JSON",
        },
        { status: 200, value: "created", drift: ["text instead of JSON"], shapeProblem: "text instead of JSON" },
        {
          status: 202,
          value: { id: 7 },
          drift: ["status 202 instead of 200", "a body instead of none"],
          shapeProblem: undefined,
        },
      ],
    );
  });

  it("rejects the words of a network's sign-in page", async () => {
    const words = "Please sign in to the hotel Wi-Fi";
    const page = { "content-type": "text/html" };
    const isMessage = (message: string) => ({ name: "InvalidResponseError", message });
    await assert.rejects(
      readBody(json(Thing), 200, words, { "content-type": "text/plain" }),
      isMessage("Expected JSON, but the service responded 200 with text that is not JSON."),
    );
    for (const method of ["GET", "POST", "DELETE"] as const) {
      await assert.rejects(
        readBody(json(Thing), 200, words, page, contracts, method),
        isMessage("Expected JSON, but the service responded 200 with HTML."),
      );
      await assert.rejects(
        readBody(empty(), 200, words, page, contracts, method),
        isMessage("Expected nothing, but the service responded 200 with HTML."),
      );
    }
  });

  it("throws for every other status with the service's message", async () => {
    await assert.rejects(readBody(json(Thing), 404, '{"detail":"Not found."}', { "x-request-id": "r1" }), (error) => {
      assert(error instanceof ServiceError);
      assert.deepEqual(
        [error.status, error.message, error.body, error.headers["x-request-id"]],
        [404, "things.show: 404 Not found. (GET /things)", { detail: "Not found." }, "r1"],
      );
      return true;
    });
  });

  it("returns text for HTML, the target of a redirect, and undefined for no body", async () => {
    assert.equal((await readBody(html(), 200, "<p>hi</p>")).value, "<p>hi</p>");
    assert.equal((await readBody(redirect(), 200, "", { location: "/next" })).value, "/next");
    assert.equal((await readBody(empty(), 200, "")).value, undefined);
  });

  it("returns a cluster's success unchecked and throws for its errors", async () => {
    const declared = passthrough();
    assert.deepEqual((await readBody(declared, 202, '{"any":1}')).value, { any: 1 });
    assert.equal((await readBody(declared, 200, "plain")).value, "plain");
    assert.equal((await readBody(declared, 302, "", { location: "/there" })).value, "/there");
    await assert.rejects(readBody(declared, 404, "{}"), ServiceError);
  });

  it("suggests the correct path for a call that matched the catch-all", async () => {
    await assert.rejects(
      readBody(json(Thing), 200, "{}", { "x-svc-matched": "catch-all" }, router),
      (error) =>
        error instanceof MisroutedRequestError && error.declared === "GET /things" && !error.message.includes("secret"),
    );
  });

  it("parses events split across chunks", async () => {
    const parsedEvents: unknown[] = [];
    for await (const event of parseServerSentEvents(
      streamPieces(': hi\n\ndata: {"a"', ':1}\n\nid: 2\ndata: {"b":\ndata: 2}\n', "\n"),
    ))
      parsedEvents.push(event);
    assert.deepEqual(parsedEvents, [{ a: 1 }, { b: 2 }]);
    const ofAnyLineEnds: unknown[] = [];
    for await (const event of parseServerSentEvents(streamPieces("data: 1\r", "\n", "\ndata: 2\r", "\r")))
      ofAnyLineEnds.push(event);
    assert.deepEqual(ofAnyLineEnds, [1, 2]);
    const stream = { "content-type": "text/event-stream; charset=utf-8" };
    const response = await readBody(events(z.object({})), 200, 'data: {"x":1}\n\n', stream);
    const streamed: unknown[] = [];
    for await (const event of response.value as AsyncIterable<unknown>) streamed.push(event);
    assert.deepEqual(streamed, [{ x: 1 }]);
    const missedCounts: (number | undefined)[] = [];
    const slow = 'data: 1\n\nevent: resync\ndata: {"missed":12}\n\nevent:resync\n\ndata: 2\n\n';
    const values: unknown[] = [];
    for await (const event of parseServerSentEvents(streamPieces(slow), (count) => missedCounts.push(count)))
      values.push(event);
    assert.deepEqual(
      [values, missedCounts],
      [
        [1, 2],
        [12, undefined],
      ],
    );
    const broken = await readBody(events(z.object({})), 200, "data: {\n\n", stream);
    await assert.rejects(drainItems(broken.value), {
      name: "InvalidResponseError",
      message: "The service sent an event that is not JSON.",
    });
  });

  const page = { "content-type": "text/html; charset=utf-8" };
  const pages: [string, ResponseBody, number, string][] = [
    ["events", events(z.object({})), 200, "Expected a stream of events, but the service responded 200 with HTML."],
    [
      "a document",
      bytes("application/pdf"),
      200,
      "Expected a document (application/pdf), but the service responded 200 with HTML.",
    ],
    ["another status", json(Thing), 302, "Expected status 200, but the service responded 302 with HTML."],
  ];
  for (const [label, response, status, message] of pages) {
    it(`rejects an HTML page as ${label}`, () =>
      assert.rejects(readBody(response, status, "<html>", page), { name: "InvalidResponseError", status, message }));
  }

  it("names the target of a redirect without its secrets", async () => {
    const location = "https://svc.example/things?secret=1&page=2";
    for (const headers of [{ location }, { location, ...page }]) {
      await assert.rejects(readBody(json(Thing), 301, "<html>", headers), {
        name: "ServiceError",
        status: 301,
        message:
          "things.show: 301 The service redirects to https://svc.example/things?secret=[redacted]&page=2 (GET /things)",
      });
    }
    await assert.rejects(readBody(json(Thing), 308, "", { location: "/moved" }, undefined, "POST"), {
      message: "things.show: 308 The service redirects to http://svc.example/moved (POST /things)",
    });
  });

  it("tells the redirect of a cluster from that of a service that has moved", async () => {
    const moves: [number, string][] = [
      [301, "https://svc.example/other"],
      [308, "/other"],
      [302, "https://svc.example/things?secret=1"],
      [307, "/things/"],
    ];
    for (const [status, location] of moves)
      await assert.rejects(readBody(passthrough(), status, "", { location }), { name: "ServiceError", status });
    const forwarded = await readBody(passthrough(), 307, "", { location: "https://app.example/contracts/T-1" });
    assert.equal(forwarded.value, "https://app.example/contracts/T-1");
  });

  it("accepts an HTML page as an uploaded file", async () => {
    const { value } = await readBody(bytes("application/octet-stream"), 200, "<html>", page);
    assert.equal(await readBodyText(value as AsyncIterable<Uint8Array>), "<html>");
  });
});

describe("charset of a response", () => {
  const text = '{"id":7,"owner":{"name":"José"}}';
  it("is UTF-8, with or without a byte order mark", async () => {
    const response = await readBody(json(Thing), 200, Buffer.from(`\ufeff${text}`));
    assert.deepEqual([response.value, response.drift], [{ id: 7, owner: { name: "José" } }, []]);
  });

  it("is an error for a read and drift for a write if the bytes are invalid in it", async () => {
    const body = Buffer.from(text, "latin1");
    await assert.rejects(readBody(json(Thing), 200, body), {
      name: "InvalidResponseError",
      message: "Expected JSON, but the service responded 200 with text that is not UTF-8.",
    });
    const written = await readBody(json(Thing), 200, body, {}, undefined, "POST");
    assert.deepEqual(written.drift, ["text that is not UTF-8"]);
    assert.deepEqual((await readBody(passthrough(), 200, body)).drift, ["text that is not UTF-8"]);
  });
});

describe("error message of a response", () => {
  const cases: [string, unknown, [string | undefined, string]][] = [
    ["a sentence", { detail: "No." }, [undefined, "No."]],
    ["a domain error", { detail: "No.", code: "SVC_1", message: "No.", status_code: 400 }, ["SVC_1", "No."]],
    [
      "field messages",
      { title: ["Required."], files: { "0": { name: ["Bad."] } } },
      [undefined, "title: Required.; files.0.name: Bad."],
    ],
    [
      "validation items",
      { detail: [{ loc: ["body", "a"], msg: "Field required" }] },
      [undefined, "body.a: Field required"],
    ],
    ["an OAuth error", { error: "slow_down" }, ["slow_down", "slow_down"]],
    ["a control error", { error: { code: "no_such", message: "None.", hint: "See." } }, ["no_such", "None."]],
    [
      "a storage document",
      "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
      ["AccessDenied", "Request has expired"],
    ],
    ["a page of a proxy", "<html></html>", [undefined, "The service responded with status 418."]],
  ];
  for (const [label, body, expected] of cases) {
    it(`comes from ${label}`, () => {
      const { code, message } = parseProblem(418, body);
      assert.deepEqual([code, message], expected);
    });
  }
});
