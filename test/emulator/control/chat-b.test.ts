import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { addCleanup } from "../../support/cleanup.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

const path = "/router/v1/integrations/chat_b/webhook/messaging";
const activity = {
  type: "message",
  channelId: "msteams",
  serviceUrl: "https://chat-b.example/eu",
  channelData: { tenant: { id: "tenant-northwind" } },
};

async function mintToken({ control }: TestEmulator, body: object = {}): Promise<{ token: string; kid: string }> {
  const response = await control("POST", "chat-b/token", { body });
  assert.equal(response.status, 200);
  return response.body as { token: string; kid: string };
}

describe("issuer of bot-framework tokens", () => {
  it("issues a token that the router accepts for its activity", async (t) => {
    const emulator = await startTestEmulator(t);
    const { token } = await mintToken(emulator, { service_url: activity.serviceUrl });
    const headers = { authorization: `Bearer ${token}` };
    assert.deepEqual(pickStatusAndBody(await emulator.router("POST", path, { body: activity, headers })), {
      status: 200,
      body: {},
    });
    const otherActivity = { ...activity, serviceUrl: "https://else.example" };
    assert.equal((await emulator.router("POST", path, { body: otherActivity, headers })).status, 401);
  });

  it("issues tokens on request that the router rejects", async (t) => {
    const emulator = await startTestEmulator(t);
    for (const change of [
      { expires_in: -600 },
      { not_before: 600 },
      { issuer: "https://else.example" },
      { app_id: "else" },
      { claims: { serviceurl: "https://else.example" } },
    ]) {
      const { token } = await mintToken(emulator, { service_url: activity.serviceUrl, ...change });
      const headers = { authorization: `Bearer ${token}` };
      assert.equal(
        (await emulator.router("POST", path, { body: activity, headers })).status,
        401,
        JSON.stringify(change),
      );
    }
  });

  it("publishes metadata and keys without authentication or private fields", async (t) => {
    const emulator = await startTestEmulator(t);
    const metadata = await (await fetch(`${emulator.controlUrl}/chat-b/openid-configuration`)).json();
    assert.deepEqual(metadata, {
      issuer: "https://api.botframework.com",
      jwks_uri: `${emulator.controlUrl}/chat-b/keys`,
      id_token_signing_alg_values_supported: ["RS256"],
    });
    const { token, kid } = await mintToken(emulator);
    const { protectedHeader } = await jwtVerify(token, createRemoteJWKSet(new URL(metadata.jwks_uri)));
    assert.equal(protectedHeader.kid, kid);
    const { keys } = (await emulator.control("GET", "chat-b/keys")).body as { keys: object[] };
    assert.deepEqual(
      keys.map((key) => Object.keys(key).sort()),
      [["e", "endorsements", "kid", "kty", "n", "use"]],
    );
  });

  it("preserves its key across a restart", async (t) => {
    const { mkdtemp, rm } = await import("node:fs/promises");
    const folder = await mkdtemp("/tmp/svc-test-");
    addCleanup(t, () => rm(folder, { recursive: true, force: true }));
    const file = `${folder}/emulator.json`;
    const first = await startTestEmulator(t, { file });
    const { kid } = await mintToken(first);
    await first.close();
    assert.equal((await mintToken(await startTestEmulator(t, { file }))).kid, kid);
  });

  it("is derived from the seed with --deterministic", async (t) => {
    const [emulator, two] = [
      await startTestEmulator(t, { deterministic: true }),
      await startTestEmulator(t, { deterministic: true }),
    ];
    assert.equal((await mintToken(emulator)).kid, (await mintToken(two)).kid);
  });

  it("issues no token if the seed names another issuer", async (t) => {
    const url = "https://issuer.example/metadata";
    const seed = { clusters: [{ id: "eu-1", label: "eu" }], apps: { chat_b: { openid_metadata_url: url } } };
    const emulator = await startTestEmulator(t, { seed });
    assert.deepEqual(pickStatusAndBody(await emulator.control("POST", "chat-b/token", { body: {} })), {
      status: 409,
      body: {
        error: {
          code: "foreign_issuer",
          message: `The router trusts the issuer at ${url}, not the emulator's own issuer.`,
          hint: "Request a token from that issuer, or remove apps.chat_b.openid_metadata_url from the seed.",
        },
      },
    });
  });
});
