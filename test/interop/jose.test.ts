import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import { startTestEmulator } from "../support/emulator.ts";
import { signIn } from "../support/identity/sign-in.ts";
import { startReceiver } from "../support/receiver.ts";

const emails = ["ada@northwind.example", "eli@fabrikam.example"];

describe("jose's createRemoteJWKSet with the aggregated keys", () => {
  it("verifies tokens of both clusters", async (t) => {
    const emulator = await startTestEmulator(t, { clock: { mode: "real" } });
    const keys = createRemoteJWKSet(new URL(`${emulator.routerUrl}/.well-known/jwks.json`));
    const claims: unknown[] = [];
    for (const email of emails) {
      const { id_token, access_token } = await signIn(emulator, email);
      const id = await jwtVerify(id_token, keys, { issuer: emulator.routerUrl, audience: "demo-cli" });
      const access = await jwtVerify(access_token, keys, {
        issuer: emulator.routerUrl,
        audience: emulator.routerUrl,
        typ: "at+jwt",
      });
      claims.push([id.payload.sub, access.payload.cluster]);
    }
    assert.deepEqual(claims, [
      ["11", "eu-1"],
      ["31", "us-1"],
    ]);
  });

  it("verifies tokens with virtual times an hour or years ahead", async (t) => {
    const emulator = await startTestEmulator(t);
    const keys = createRemoteJWKSet(new URL(`${emulator.routerUrl}/.well-known/jwks.json`));
    const { id_token } = await signIn(emulator, emails[0]!);
    assert.equal((await jwtVerify(id_token, keys)).payload.sub, "11");
    const currentDate = new Date(emulator.clock.now() + 3_600_000);
    await assert.rejects(jwtVerify(id_token, keys, { currentDate }), errors.JWTExpired);
  });

  it("verifies tokens of the other clusters while one is down", async (t) => {
    const down = await startReceiver(t);
    down.respond((_, response) => response.destroy());
    const emulator = await startTestEmulator(t, {
      clock: { mode: "real" },
      seed: {
        clusters: [
          { id: "ap-1", label: "ap", external_url: down.url },
          { id: "eu-1", label: "eu" },
        ],
        workspaces: [
          { id: 1, cluster_id: "eu-1", name: "W", acting_user_id: 1, organization_types: [], jurisdictions: [] },
        ],
        users: [{ id: 1, workspace_id: 1, name: "Ada", email: emails[0] }],
        oauth_clients: [{ client_id: "demo-cli", client_name: "Demo" }],
      },
    });
    const keys = createRemoteJWKSet(new URL(`${emulator.routerUrl}/.well-known/jwks.json`));
    const { id_token } = await signIn(emulator, emails[0]!);
    assert.equal((await jwtVerify(id_token, keys)).payload.sub, "1");
    assert.equal(keys.jwks()?.keys.length, 1);
  });

  it("rejects a token signed by another emulator", async (t) => {
    const [emulator, otherEmulator] = [await startTestEmulator(t), await startTestEmulator(t)];
    const keys = createRemoteJWKSet(new URL(`${emulator.routerUrl}/.well-known/jwks.json`));
    const { id_token } = await signIn(otherEmulator, emails[0]!);
    await assert.rejects(jwtVerify(id_token, keys), errors.JWKSNoMatchingKey);
  });
});
