import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { putExternalMetadata } from "../../src/api/contracts/external-metadata.ts";
import { defineOperation, empty, form, json, type Operation, raw, stream } from "../../src/api/operation.ts";
import { contracts, router, storage } from "../../src/api/services.ts";
import { type CallArguments, CheckedCall } from "../../src/client/checked-call.ts";
import { InvalidArgumentsError, MissingCredentialsError } from "../../src/client/errors.ts";
import type { BaseUrls, Credentials } from "../../src/client/published.d.ts";
import { buildRequest, type HttpRequest, type RequestOptions } from "../../src/client/request.ts";

const base = { router: "https://router.example/", contracts: "https://eu.example/base" };
const common = { summary: "Do it", failures: [], basis: "specified", examples: [], cli: { command: "x y" } } as const;

const rename = defineOperation({
  ...common,
  id: "things.rename",
  service: contracts,
  method: "PATCH",
  path: "/things/{thing_id}/name",
  auth: "api-key",
  request: {
    params: z.object({ thing_id: z.string() }),
    query: z.object({ tag: z.array(z.string()).optional(), deep: z.boolean().optional() }),
    headers: z.object({ "x-reason": z.string().optional() }),
    body: json(z.object({ name: z.string().min(2), owner: z.object({ email: z.string() }).optional() })),
  },
  responses: { 200: json(z.strictObject({})) },
});

const createWithAuth = (auth: Operation["auth"], body?: Operation["request"]["body"]): Operation => ({
  ...common,
  id: "things.do",
  service: router,
  method: "POST",
  path: "/things/{cluster_id}",
  auth,
  request: { params: z.object({ cluster_id: z.string() }), body },
  responses: { 200: empty() },
});

const key = { clientId: "id-1", clientSecret: "secret-1" };

const checkAndBuildRequest = (
  declared: Operation,
  args: CallArguments,
  urls: BaseUrls,
  credentials: Credentials,
  options?: RequestOptions,
): HttpRequest => buildRequest(CheckedCall.check(declared, args), urls, credentials, options);

describe("request construction", () => {
  it("inserts each argument with percent encoding", () => {
    const request = checkAndBuildRequest(
      rename,
      {
        params: { thing_id: "a/b ü" },
        query: { tag: ["x", "y z"], deep: true },
        headers: { "x-reason": "why not" },
        body: { name: "Ada" },
      },
      base,
      key,
    );
    assert.deepEqual(request, {
      method: "PATCH",
      url: "https://eu.example/base/things/a%2Fb%20%C3%BC/name?tag=x&tag=y+z&deep=true",
      headers: {
        accept: "application/json",
        "content-type": "application/json",
        "x-reason": "why not",
        "client-id": "id-1",
        "client-secret": "secret-1",
      },
      body: '{"name":"Ada"}',
    });
  });

  it("sends half a character in a path as U+FFFD, as in a query", () => {
    const args = { params: { thing_id: "a\ud800" }, query: { tag: ["b\udc00"] }, body: { name: "Ada" } };
    const { url } = checkAndBuildRequest(rename, args, base, key);
    assert.equal(url, "https://eu.example/base/things/a%EF%BF%BD/name?tag=b%EF%BF%BD");
  });

  it("rejects a list of more invalid values than can be reported, with the first ones", () => {
    const declared = createWithAuth(
      "none",
      json(z.object({ groups: z.array(z.object({ names: z.array(z.string()) })) })),
    );
    const findProblems = (names: unknown[]) => {
      const args = { params: { cluster_id: "c" }, body: { groups: [{ names: [] }, { names }] } };
      try {
        CheckedCall.check(declared, args);
        return [];
      } catch (error) {
        return (error as InvalidArgumentsError).problems;
      }
    };
    const createProblem = (at: number) => {
      const path = ["groups", 1, "names", at];
      return { in: "body", path, message: "must be a string", missing: false };
    };
    const rest = { in: "body", path: [], message: "too many invalid values to list", missing: false };
    const first = Array.from({ length: 10 }, (_, at) => createProblem(at));
    assert.deepEqual(findProblems(Array(300_000).fill(1)), [...first, rest]);
    const late = [...Array(79).fill(""), ...Array(300_000).fill(1)];
    assert.deepEqual(findProblems(late), [createProblem(79), rest]);
  });

  it("words a wrong UUID like other wrong values", () => {
    const external_metadata = { record_type: "deal", object_configuration_id: "1" };
    const args = { params: { contract_id: "T-1" }, body: { external_metadata } };
    const path = ["external_metadata", "object_configuration_id"];
    assert.throws(() => CheckedCall.check(putExternalMetadata, args), {
      problems: [{ in: "body", path, message: "must be a UUID", missing: false }],
    });
  });

  it("rejects an object with more invalid values than can be reported", () => {
    const declared = createWithAuth("none", json(z.object({ metadata: z.record(z.string(), z.string()) })));
    const metadata = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`key-${at}`, at]));
    assert.throws(() => CheckedCall.check(declared, { params: { cluster_id: "c" }, body: { metadata } }), {
      name: "InvalidArgumentsError",
      problems: [{ in: "body", path: [], message: "too many invalid values to list", missing: false }],
    });
  });

  it("sends the key of the named cluster, the general key or no key", () => {
    const call = (cluster: string, clusterKey?: string) =>
      checkAndBuildRequest(createWithAuth("cluster-key"), { params: { cluster_id: cluster } }, base, {
        clusterKeys: { "eu-1": "eu-key" },
        clusterKey,
      }).headers["x-cluster-key"];
    assert.deepEqual([call("eu-1", "any"), call("us-1", "any"), call("us-1")], ["eu-key", "any", undefined]);
  });

  it("reads the cluster from the request body", () => {
    const body = json(z.object({ cluster_id: z.string() }));
    const declared: Operation = { ...createWithAuth("cluster-key", body), path: "/things", request: { body } };
    const { headers } = checkAndBuildRequest(declared, { body: { cluster_id: "eu-1" } }, base, {
      clusterKeys: { "eu-1": "eu-key" },
    });
    assert.equal(headers["x-cluster-key"], "eu-key");
  });

  it("sends each kind of credentials with its authentication scheme", () => {
    const header = (auth: Operation["auth"]) =>
      checkAndBuildRequest(createWithAuth(auth), { params: { cluster_id: "c" } }, base, {
        basic: { username: "jo", password: "pw" },
        bearer: "access",
        controlToken: "control",
      }).headers.authorization;
    assert.deepEqual(
      [header("basic"), header("bearer"), header("control-token"), header("none")],
      [`Basic ${Buffer.from("jo:pw").toString("base64")}`, "Bearer access", "Bearer control", undefined],
    );
  });

  it("sends key and bearer token if both are declared and available", () => {
    const sent = (credentials: Credentials) => {
      const { headers } = checkAndBuildRequest(
        createWithAuth("cluster-key-or-bearer"),
        { params: { cluster_id: "c" } },
        base,
        credentials,
      );
      return [headers["x-cluster-key"], headers.authorization];
    };
    assert.deepEqual(
      [sent({ clusterKey: "k" }), sent({ bearer: "b" }), sent({ clusterKey: "k", bearer: "b" }), sent({})],
      [
        ["k", undefined],
        [undefined, "Bearer b"],
        ["k", "Bearer b"],
        [undefined, undefined],
      ],
    );
  });

  for (const needs of ["api-key", "basic", "bearer", "control-token"] as const) {
    it(`rejects a call without ${needs} credentials`, () => {
      assert.throws(
        () => checkAndBuildRequest(createWithAuth(needs), { params: { cluster_id: "c" } }, base, {}),
        (error) => error instanceof MissingCredentialsError && error.needs === needs,
      );
    });
  }

  it("reports all invalid arguments before sending a request", () => {
    const wrong = { params: { thing_id: "a" }, query: { deep: "yes" }, body: { name: "A", owner: {} } };
    assert.throws(
      () => checkAndBuildRequest(rename, wrong, base, key),
      (error) => {
        assert(error instanceof InvalidArgumentsError);
        assert.deepEqual(
          error.problems.map(({ in: location, path, missing }) => [location, path.join("."), missing]),
          [
            ["query", "deep", false],
            ["body", "name", false],
            ["body", "owner.email", true],
          ],
        );
        return true;
      },
    );
  });

  it("encodes forms and sends bytes unchanged", () => {
    const params = { cluster_id: "c" };
    const formed = checkAndBuildRequest(
      createWithAuth("none", form(z.object({ a: z.string() }))),
      { params, body: { a: "1 &" } },
      base,
      {},
    );
    assert.deepEqual([formed.headers["content-type"], formed.body], ["application/x-www-form-urlencoded", "a=1+%26"]);
    const bytes = Buffer.from([0, 255]);
    const sent = checkAndBuildRequest(
      createWithAuth("none", raw()),
      { params, body: bytes },
      base,
      {},
      { contentType: "text/x" },
    );
    assert.deepEqual([sent.headers["content-type"], sent.body], ["text/x", bytes]);
  });

  it("sends only Content-Type and Content-Length to a signed storage URL", () => {
    const putOperation: Operation = {
      ...createWithAuth("none", stream({ maxBytes: 9 })),
      service: storage,
      method: "PUT",
    };
    const url = "https://bucket.example/k?X-Sig-Signature=abc";
    const request = checkAndBuildRequest(
      putOperation,
      { body: Buffer.from("pdf") },
      base,
      { ...key, clusterKey: "k", bearer: "b" },
      { url, contentType: "application/pdf", contentLength: 3 },
    );
    assert.deepEqual(request, {
      method: "PUT",
      url,
      headers: { "content-type": "application/pdf", "content-length": "3" },
      body: Buffer.from("pdf"),
    });
  });
});
