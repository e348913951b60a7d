import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { calculateJwkThumbprint } from "jose";
import vectors from "../../../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { addCleanup } from "../../../support/cleanup.ts";
import { createSender, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { decodeJwtPart, signIn } from "../../../support/identity/sign-in.ts";

interface Jwk {
  readonly kid: string;
  readonly n: string;
  readonly e: string;
  readonly kty: string;
}

const listSigningKeys = async ({ router }: Pick<TestEmulator, "router">) =>
  ((await router("GET", "/.well-known/jwks.json")).body as { keys: Jwk[] }).keys;

/** RFC 7638, 3 */
const computeThumbprint = ({ e, kty, n }: Omit<Jwk, "kid">) =>
  createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");

const seedWith = (rest: object = {}) => ({
  clusters: [
    { id: "eu-1", label: "eu", key: "a" },
    { id: "us-1", label: "us", key: "b" },
  ],
  ...rest,
});

describe("signing key of a cluster", () => {
  it("signs tokens and is published in the key set under its thumbprint", async (t) => {
    const { jwk, kid } = vectors.jwk_thumbprint;
    assert.equal(computeThumbprint(jwk), kid);
    assert.equal(await calculateJwkThumbprint(jwk), kid);

    const emulator = await startTestEmulator(t);
    const keys = await listSigningKeys(emulator);
    assert.deepEqual(
      keys.map(({ n: _, ...rest }) => rest),
      keys.map((key) => ({ kty: "RSA", e: "AQAB", kid: computeThumbprint(key), use: "sig", alg: "RS256" })),
    );
    assert.equal(new Set(keys.map((key) => key.kid)).size, 2);
    for (const [i, email] of ["ada@northwind.example", "eli@fabrikam.example"].entries()) {
      const { access_token, id_token } = await signIn(emulator, email);
      assert.deepEqual(decodeJwtPart(id_token, 0), { alg: "RS256", kid: keys[i]!.kid, typ: "JWT" });
      assert.equal(decodeJwtPart(access_token, 0).kid, keys[i]!.kid);
    }
  });

  it("is created once despite concurrent requests, and survives a restart", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
    addCleanup(t, () => rm(folder, { recursive: true }));
    const file = join(folder, "emulator.json");
    const first = await startTestEmulator(t, { file });
    const sets = await Promise.all([listSigningKeys(first), listSigningKeys(first), listSigningKeys(first)]);
    assert.deepEqual(sets[1], sets[0]);
    assert.deepEqual(sets[2], sets[0]);
    await first.close();
    assert.deepEqual(await listSigningKeys(await startTestEmulator(t, { file })), sets[0]);
  });

  it("can be defined by the seed", async (t) => {
    const jwk = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
    const emulator = await startTestEmulator(t, { seed: seedWith({ signing_keys: [{ cluster_id: "us-1", jwk }] }) });
    const [eu, us] = await listSigningKeys(emulator);
    assert.equal(us!.n, jwk.n);
    assert.notEqual(eu!.n, jwk.n);
  });

  it("is derived from the seed under --deterministic and differs by cluster", async (t) => {
    const deterministic = true;
    const [first, same] = [
      await listSigningKeys(await startTestEmulator(t, { seed: seedWith(), deterministic })),
      await listSigningKeys(await startTestEmulator(t, { seed: seedWith(), deterministic })),
    ];
    assert.deepEqual(same, first);
    // The key is the same in every version, so that tokens in fixtures remain valid.
    assert.deepEqual(
      first.map(({ kid }) => kid),
      ["ILUoAY1Q6gLKopgmWxBIz0Rj0UDBjbJ1LXZG5vK3WEA", "8b6imS6wKBQ-R0SZ6_sqjU8horUeRWfKwi0E_fGG4N4"],
    );
    assert.equal(Buffer.from(first[0]!.n, "base64url").length, 256);
  });

  it("differs in every other state", async (t) => {
    const [first, second] = [
      await listSigningKeys(await startTestEmulator(t)),
      await listSigningKeys(await startTestEmulator(t)),
    ];
    assert.notDeepEqual(first, second);
  });
});

it("OpenID configuration of a cluster contains its own URLs", async (t) => {
  const emulator = await startTestEmulator(t);
  const { url } = emulator.clusters[1]!;
  const { body } = await createSender(url)("GET", "/.well-known/openid-configuration");
  const { issuer, jwks_uri, token_endpoint } = body as Record<string, string>;
  assert.deepEqual(
    [issuer, jwks_uri, token_endpoint],
    [url, `${url}/.well-known/jwks.json`, `${url}/api/v1/oauth/token/`],
  );
});
