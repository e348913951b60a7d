import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { signCrmB } from "../../../../src/schemes/crm-b.ts";
import { plain } from "../../../support/emulator.ts";
import { type Routed, routed } from "../../../support/routed.ts";

const path = "/router/v1/crm_b/";
const secret = "1234567890123456789";
const apps = { crm_b: { consumer_secret: secret, index_url_allow: ["https://front.example"] } };
const form = { "content-type": "application/x-www-form-urlencoded" };

const envelope = {
  algorithm: "HMACSHA256",
  client: { oauthToken: "00D-secret-token", refreshToken: "5Aep-secret-token" },
  context: { user: { fullName: "Ada </script><b>Keller" }, organization: { name: "Northwind" } },
};

const open = (world: Routed, signedRequest: string, query = "") =>
  world.router("POST", path + query, {
    body: `signed_request=${encodeURIComponent(signedRequest)}`,
    headers: form,
  });

const signed = (value: unknown = envelope) => signCrmB(secret, JSON.stringify(value));

const contextIn = (page: unknown): unknown => {
  const [, context] = /<script type="application\/json" id="context">(.*)<\/script>/.exec(String(page)) ?? [];
  return context === undefined ? undefined : JSON.parse(context);
};

describe("crm_b", () => {
  it("opens the canvas page with the context of the signed request, and without the CRM's tokens", async (t) => {
    const world = await routed(t, { apps });
    const answer = await open(world, signed());
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    assert.deepEqual(contextIn(answer.body), envelope.context);
    assert.ok(!String(answer.body).includes("secret-token"));
    assert.ok(!String(answer.body).includes("<b>Keller"));
    assert.deepEqual(world.reached(), []);
  });

  it("needs no context, and no algorithm", async (t) => {
    const world = await routed(t, { apps });
    const answer = await open(world, signed({ issuedAt: null }));
    assert.equal(answer.status, 200);
    assert.deepEqual(contextIn(answer.body), {});
  });

  it("shows the same page without a context to a GET", async (t) => {
    const world = await routed(t, { apps });
    const answer = await world.router("GET", path);
    assert.equal(answer.status, 200);
    assert.match(String(answer.body), /<h1>Contracts in crm_b<\/h1>/);
    assert.equal(contextIn(answer.body), undefined);
  });

  it("refuses a signed request that does not hold", async (t) => {
    const world = await routed(t, { apps });
    const [mac, text] = signed().split(".") as [string, string];
    for (const attempt of [
      "garbage",
      `.${text}`,
      `${mac}.`,
      `${mac}.${Buffer.from('{"algorithm":"HMACSHA256"}').toString("base64")}`,
      signCrmB("else", JSON.stringify(envelope)),
      signed({ ...envelope, algorithm: "HMACMD5" }),
      signCrmB(secret, "[]"),
      signCrmB(secret, "{{{"),
    ]) {
      const expected = { status: 401, body: { detail: "Invalid signed request" } };
      assert.deepEqual(plain(await open(world, attempt)), expected, attempt);
    }
  });

  it("asks for the field in FastAPI's words", async (t) => {
    const world = await routed(t, { apps });
    for (const text of ["other=1", "signed_request="]) {
      const { status, body } = plain(await world.router("POST", path, { body: text, headers: form }));
      assert.equal(status, 422);
      assert.deepEqual(
        (body as { detail: { loc: unknown; type: string }[] }).detail.map(({ loc, type }) => [loc, type]),
        [[["body", "signed_request"], "missing"]],
      );
    }
  });

  describe("index_url_override", () => {
    const at = (url: string) => `?index_url_override=${encodeURIComponent(url)}`;

    it("on the seed's list lets the page load its front end from there, and the router fetches nothing", async (t) => {
      const world = await routed(t, { apps });
      for (const answer of [
        await open(world, signed(), at("https://front.example/app/?v=2")),
        await world.router("GET", path + at("https://front.example/app/?v=2")),
      ]) {
        assert.equal(answer.status, 200);
        assert.match(String(answer.body), /<iframe [^>]*src="https:\/\/front\.example\/app\/\?v=2"/);
        assert.match(answer.headers.get("content-security-policy") ?? "", /frame-src https:\/\/front\.example;/);
      }
      assert.deepEqual(world.reached(), []);
    });

    it("to any other origin is refused", async (t) => {
      const world = await routed(t, { apps });
      for (const url of [
        "https://else.example/",
        "http://front.example/",
        "https://front.example:8443/",
        "https://front.example@else.example/",
        "https://front.example.else.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "/relative",
        "%",
      ]) {
        const expected = { status: 400, body: { detail: "index_url_override is not an allowed origin" } };
        assert.deepEqual(plain(await open(world, signed(), at(url))), expected, url);
        assert.deepEqual(plain(await world.router("GET", path + at(url))), expected, url);
      }
    });

    it("counts for nothing when it is empty", async (t) => {
      const world = await routed(t, { apps });
      const { status, body } = await world.router("GET", path + at(""));
      assert.equal(status, 200);
      assert.ok(!String(body).includes("<iframe"));
    });
  });
});
