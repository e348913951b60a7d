import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../../src/base/email-address.ts";
import { pickStatusAndBody, startTestEmulator, type TestRequest } from "../../../support/emulator.ts";
import { startRoutedEmulator } from "../../../support/routed-emulator.ts";

const both = ["eu", "us"];
const events = "/api/v1/emails/mailer/webhook";
const login = "/api/v1/svc_auth/login_v2/";
const cases: [string, string, string[], TestRequest?][] = [
  ["GET", "/contract-invite/creator/by_token/creator", ["us"]],
  ["GET", "/contract-invite/creator/by_token/counterparty", both],
  ["GET", "/contract-invite/counter_party/by_token/counterparty", ["us"]],
  ["GET", "/contract-invite/counterparty/by_token/counterparty", ["us"]],
  ["GET", "/contract-invite/counter_party/by_token/creator", both],
  ["GET", "/contract-invite/counterparty/by_token/creator", both],
  ["GET", "/contract-invite/anybody/by_token/creator", ["us"]],
  ["GET", "/v3/contract-invite/anybody/by_token/counterparty", ["us"]],
  ["GET", "/v3/contract-invite/creator/by_token/nobody", both],
  ["GET", "/auth/v3/invite_info/?token=creator", ["us"]],
  ["GET", "/auth/v3/invite_info/?token=nobody", both],
  ["GET", "/organization/user-invite/by_token/counterparty", ["us"]],
  ["GET", "/organization/user-invite/by_token/nobody", both],
  ["GET", "/api/v1/svc_auth/oauth/login", both],
  ["GET", "/api/v1/svc_auth/oauth/login?email=ada@example.com", ["us"]],
  ["GET", "/api/v1/svc_auth/oauth/signup", both],
  ["GET", "/api/v1/svc_auth/oauth/callback?code=c&state=us-1_abc", ["us"]],
  ["GET", "/api/v1/svc_auth/oauth/callback?code=c&state=abc", both],
  ["GET", "/api/v1/svc_auth/oauth/signup/callback?code=c&state=us-1_abc", ["us"]],
  ["POST", login, ["us"], { body: { email: "Ada@Example.com " } }],
  ["POST", login, both, { body: { email: "bob@example.com" } }],
  ["GET", "/api/v1/auth/captcha-config?cluster_id=us-1", both],
  ["POST", events, ["us"], { body: { Metadata: { cluster_id: "us-1" }, RecordType: "Bounce" } }],
  ["POST", events, ["us"], { body: { Metadata: { email_hash: hashEmail("ada@example.com") } } }],
  ["POST", events, ["us"], { body: { Metadata: { cluster_id: "ap-9", email_hash: hashEmail("ada@example.com") } } }],
  ["POST", events, both, { body: { Metadata: {} } }],
  ["GET", "/router/v1/oauth2.0/external/ProviderB/redirect?code=c&state=us-1_abc", ["us"]],
  ["GET", "/router/v1/oauth2.0/external/ProviderB/redirect?error=access_denied", both],
];

describe("proxied route", () => {
  for (const [method, path, expected, request] of cases) {
    it(`forwards ${method} ${path} ${request ? JSON.stringify(request.body) : ""} to ${expected.join(" and ")}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      await emulator.map("creators", "us-1", ["creator"]);
      await emulator.map("counterparties", "us-1", ["counterparty"]);
      await emulator.map("emails", "us-1", [hashEmail("ada@example.com")]);
      emulator.eu.respond((_, response) => response.end("eu"));
      emulator.us.respond((_, response) => response.end("us"));

      const response = await emulator.router(method, path, request);
      assert.deepEqual(pickStatusAndBody(response), { status: 200, body: expected[0] });
      assert.equal(response.headers.get("x-svc-matched"), null);
      assert.deepEqual(
        emulator.listForwarded(),
        expected.map((name) => `${name} ${method} ${path}`),
      );
    });
  }

  it("forwards the client's address", async (t) => {
    const emulator = await startRoutedEmulator(t);
    await emulator.router("GET", "/api/v1/auth/captcha-config", { headers: { "x-forwarded-for": "203.0.113.9" } });
    assert.equal(emulator.eu.received[0]?.headers["x-forwarded-for"], "203.0.113.9, 127.0.0.1");
  });

  it("forwards the mailer's additional fields unchanged", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const body = '{ "Metadata": {"cluster_id":"us-1"}, "MessageID": 1.0, "Tag": "caf\\u00e9" }';
    await emulator.router("POST", events, { body, headers: { "content-type": "application/json" } });
    assert.equal(emulator.us.received[0]?.body.toString(), body);
  });

  it("rejects invalid input without a request to a cluster", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const status = async (...request: Parameters<typeof emulator.router>) => (await emulator.router(...request)).status;
    assert.equal(await status("GET", "/auth/v3/invite_info/"), 422);
    assert.equal(await status("GET", "/api/v1/svc_auth/oauth/callback?code=c"), 422);
    assert.equal(await status("POST", login, { body: { email: 1 } }), 422);
    assert.equal(await status("POST", events, { body: { metadata: {} } }), 422);
    assert.equal(await status("GET", "/router/v1/oauth2.0/external/nope/redirect"), 422);
    assert.deepEqual(emulator.listForwarded(), []);
  });

  for (const path of ["/auth/v3/invite_info/?token=creator", "/organization/user-invite/by_token/creator"]) {
    it(`returns the cluster's response or error for ${path}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      await emulator.map("creators", "us-1", ["creator"]);
      emulator.us.respond((_, response) => response.writeHead(410).end("gone"));
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), { status: 410, body: "gone" });
      emulator.us.respond((_, response) => response.destroy());
      assert.deepEqual(pickStatusAndBody(await emulator.router("GET", path)), {
        status: 502,
        body: { detail: "Cluster us-1 is unreachable" },
      });
    });
  }
});

it("the router offers the test captcha based on the client's address", async (t) => {
  const emulator = await startTestEmulator(t);
  const show = async (headers = {}) =>
    pickStatusAndBody(await emulator.router("GET", "/api/v1/auth/captcha-config", { headers }));
  assert.deepEqual(await show(), { status: 200, body: { use_test_captcha: true } });
  assert.deepEqual(await show({ "x-forwarded-for": "203.0.113.9" }), {
    status: 200,
    body: { use_test_captcha: false },
  });
});
