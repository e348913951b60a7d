import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { signCrmB } from "../../../../src/schemes/connected-apps.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";

const path = "/router/v1/crm_b/";
const form = { "content-type": "application/x-www-form-urlencoded" };

const envelope = {
  algorithm: "HMACSHA256",
  client: { oauthToken: "00D-secret-token", refreshToken: "5Aep-secret-token" },
  context: { user: { fullName: "Ada </script><b>Keller" }, organization: { name: "Northwind" } },
};

const signEnvelope = (value: unknown = envelope, secret = "demo-crm-b-secret") =>
  signCrmB(secret, JSON.stringify(value));

const open = ({ router }: Pick<TestEmulator, "router">, signedRequest: string, query = "") =>
  router("POST", path + query, { body: `signed_request=${encodeURIComponent(signedRequest)}`, headers: form });

const parseContext = (page: unknown): unknown => {
  const [, context] = /<script type="application\/json" id="context">(.*)<\/script>/.exec(String(page)) ?? [];
  return context === undefined ? undefined : JSON.parse(context);
};

describe("crm_b canvas page", () => {
  it("contains the context of the signed request without the CRM's tokens", async (t) => {
    const response = await open(await startTestEmulator(t), signEnvelope());
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.deepEqual(parseContext(response.body), envelope.context);
    assert.ok(!String(response.body).includes("secret-token"));
    assert.ok(!String(response.body).includes("<b>Keller"));
  });

  it("accepts multipart form data and a request without a context", async (t) => {
    const emulator = await startTestEmulator(t);
    const parts = new FormData();
    parts.set("signed_request", signEnvelope({ issuedAt: null }));
    const response = await fetch(emulator.routerUrl + path, { method: "POST", body: parts });
    assert.deepEqual([response.status, parseContext(await response.text())], [200, {}]);
  });

  it("responds to a GET without a context", async (t) => {
    const { status, body } = await (await startTestEmulator(t)).router("GET", path);
    assert.equal(status, 200);
    assert.match(String(body), /<h1>Contracts in crm_b<\/h1>/);
    assert.equal(parseContext(body), undefined);
  });

  it("rejects an invalid signed request that bypassed the router", async (t) => {
    const emulator = await startTestEmulator(t);
    const router = createSender(emulator.clusters[0]!.url);
    const expected = { status: 401, body: { detail: "Invalid signed request" } };
    assert.deepEqual(pickStatusAndBody(await open({ router }, signEnvelope(envelope, "else"))), expected);
    assert.deepEqual(pickStatusAndBody(await router("POST", path, { body: "", headers: form })), expected);
  });

  it("loads its front end from index_url_override if it is allowed", async (t) => {
    const emulator = await startTestEmulator(t);
    const formatOverride = (url: string) => `?index_url_override=${encodeURIComponent(url)}`;
    for (const response of [
      await open(emulator, signEnvelope(), formatOverride("https://front.example/app/?v=2")),
      await emulator.router("GET", path + formatOverride("https://front.example/app/?v=2")),
    ]) {
      assert.equal(response.status, 200);
      assert.match(String(response.body), /<iframe [^>]*src="https:\/\/front\.example\/app\/\?v=2"/);
      assert.match(response.headers.get("content-security-policy") ?? "", /frame-src https:\/\/front\.example;/);
    }
    for (const response of [
      await emulator.router("GET", path + formatOverride("")),
      await createSender(emulator.clusters[0]!.url)("GET", path + formatOverride("https://else.example/")),
    ]) {
      assert.equal(response.status, 200);
      assert.ok(!String(response.body).includes("<iframe"));
    }
  });
});
