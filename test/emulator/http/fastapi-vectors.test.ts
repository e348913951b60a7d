import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { createPart } from "../../../emulator/http/handler.ts";
import { Passthrough } from "../../../emulator/http/reply.ts";
import { fail } from "../../../src/api/failures.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { parseBasic } from "../../../src/schemes/http-authorization.ts";
import type { TestHandler } from "./made-up.ts";
import { startTestServer, stateless, type TestServer } from "./serving.ts";

interface Case {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly content_type?: string;
    readonly body?: string;
    readonly body_base64?: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

const vectors = new URL("../../../fixtures/vectors/", import.meta.url);
const readVectors = (name: string) => JSON.parse(readFileSync(new URL(name, vectors), "utf8"));
const http: { readonly validation: readonly Case[]; readonly routing: readonly Case[] } =
  readVectors("routing-http.json");
/** Cases of a later release with different responses (DECISIONS.md, R1). */
const later: readonly Case[] = readVectors("fastapi-0.165.json").validation;
const validation = [...new Map([...http.validation, ...later].map((recorded) => [recorded.name, recorded])).values()];
const syntax: { readonly cases: readonly { python_repr: string; pos: number; error: string }[] } =
  readVectors("json-errors.json");

const operations = (registry as readonly Operation[]).filter(({ service }) => service.name === "router");

/** Every operation succeeds with an empty page, because the test is about the checks before it. */
const respondTrue: TestHandler = () => new Passthrough(200, ["content-type", "application/json"], Buffer.from("true"));
const handlers = Object.fromEntries(operations.map(({ id }) => [id, respondTrue]));
const passing = operations.map((operation) => ({ ...operation, responses: { 200: { kind: "passthrough" as const } } }));

const startRouter = (t: TestContext): Promise<TestServer> =>
  startTestServer(t, [
    createPart({
      operations: passing,
      handlers,
      context: stateless,
      authenticate: {
        "cluster-key": () => undefined,
        "cluster-key-or-bearer": () => undefined,
        bearer: () => undefined,
        basic: ({ headers }) => parseBasic(headers.authorization) ?? fail("not-authenticated"),
      },
    }),
  ]);

async function sendCase({ send }: TestServer, { request }: Case) {
  const body = request.body_base64 === undefined ? request.body : Buffer.from(request.body_base64, "base64");
  return send(request.method, request.path, {
    headers: { ...(request.content_type && { "content-type": request.content_type }), ...request.headers },
    ...(body !== undefined && { body }),
  });
}

describe("FastAPI-compatible validation", () => {
  for (const recorded of validation) {
    it(`matches the FastAPI response for the case "${recorded.name}"`, async (t) => {
      const response = await sendCase(await startRouter(t), recorded);
      const { status, headers, body } = recorded.response;
      // The recorded successes come from a stub, so only their success counts.
      if (status === 200) assert.equal(response.status, 200);
      else assert.deepEqual(response, { status, headers, body });
    });
  }
});

describe("catch-all for unmatched requests", () => {
  for (const recorded of http.routing) {
    it(`matches the FastAPI response for the case "${recorded.name}"`, async (t) => {
      const serving = await startRouter(t);
      const response = await sendCase(serving, recorded);
      assert.equal(response.status, recorded.response.status);
      if (response.status === 200) {
        assert.equal(response.headers["x-svc-matched"], "catch-all");
        assert.deepEqual(
          serving.log.list().map(({ operation }) => operation),
          ["catch-all"],
        );
      } else assert.deepEqual(response, recorded.response);
    });
  }

  it("receives the decoded path as one parameter", async (t) => {
    const parsedParams: unknown[] = [];
    const catchAll = operations.filter(({ id }) => id === "catch-all");
    const { send } = await startTestServer(t, [
      createPart({
        operations: catchAll,
        handlers: {
          "catch-all": ({ params }: { params: unknown }) => {
            parsedParams.push(params);
            return new Passthrough(204, [], Buffer.alloc(0));
          },
        },
        context: stateless,
      }),
    ]);
    for (const recorded of http.routing.filter(({ response }) => response.status === 200)) {
      await send(recorded.request.method, recorded.request.path);
    }
    assert.deepEqual(
      parsedParams,
      http.routing
        .filter(({ response }) => response.status === 200)
        .map(({ response }) => ({ full_path: JSON.parse(response.body).full_path })),
    );
  });
});

describe("JSON parse error of the router", () => {
  for (const { python_repr, pos, error } of syntax.cases) {
    it(`matches CPython's message and position for ${python_repr}`, async (t) => {
      const text = python_repr.slice(1, -1).replaceAll("\\\\", "\\");
      // An empty body never reaches the parser, but a single blank does.
      const body = text === "" ? " " : text;
      const { send } = await startRouter(t);
      const response = await send("POST", "/router/v1/cluster_emails/bulk", {
        headers: { "content-type": "application/json" },
        body,
      });
      const at = text === "" ? 1 : pos;
      assert.deepEqual(JSON.parse(response.body), {
        detail: [{ type: "json_invalid", loc: ["body", at], msg: "JSON decode error", input: {}, ctx: { error } }],
      });
    });
  }
});
