import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import {
  authorize,
  createExchangeFields,
  getAuthorizationCode,
  requestToken,
  signIn,
} from "../../../support/identity/sign-in.ts";

const ada = "ada@northwind.example";
const minute = 60_000;
const day = 24 * 60 * minute;

/** The number of rows of a collection in the state. */
const countOf = async ({ control }: TestEmulator, collection: string) => {
  const { rows } = (await control("GET", "state")).body as { rows: Record<string, readonly unknown[]> };
  return rows[collection]?.length ?? 0;
};

describe("removal of expired rows", () => {
  it("removes a code ten minutes after its expiry when the next is issued", async (t) => {
    const emulator = await startTestEmulator(t);
    const code = await getAuthorizationCode(emulator, ada);
    await emulator.clock.advance({ by: 20 * minute - 1 });
    await getAuthorizationCode(emulator, ada);
    assert.equal(await countOf(emulator, "authorization_codes"), 2);
    const expired = { error: "invalid_grant", error_description: "The code has expired" };
    assert.deepEqual((await requestToken(emulator, createExchangeFields(code))).body, expired);

    await emulator.clock.advance({ by: 1 });
    await getAuthorizationCode(emulator, ada);
    assert.equal(await countOf(emulator, "authorization_codes"), 2);
    const unknownCode = { error: "invalid_grant", error_description: "The code is unknown" };
    assert.deepEqual((await requestToken(emulator, createExchangeFields(code))).body, unknownCode);
  });

  it("removes an ended session when the next one starts", async (t) => {
    const emulator = await startTestEmulator(t);
    await authorize(emulator, { svc_user: ada });
    await emulator.clock.advance({ by: 12 * 60 * minute - 1 });
    await authorize(emulator, { svc_user: ada });
    assert.equal(await countOf(emulator, "sessions"), 2);
    await emulator.clock.advance({ by: 1 });
    await authorize(emulator, { svc_user: ada });
    assert.equal(await countOf(emulator, "sessions"), 2);
  });

  it("removes a refresh token a day after its expiry when the next is issued", async (t) => {
    const emulator = await startTestEmulator(t);
    const { refresh_token } = await signIn(emulator, ada);
    const refreshed = async () =>
      (await requestToken(emulator, { client_id: "demo-cli", grant_type: "refresh_token", refresh_token })).body;
    await emulator.clock.advance({ by: 31 * day - 1 });
    await signIn(emulator, ada);
    assert.equal(await countOf(emulator, "refresh_tokens"), 2);
    assert.deepEqual(await refreshed(), { error: "invalid_grant", error_description: "The token has expired" });

    await emulator.clock.advance({ by: 1 });
    await signIn(emulator, ada);
    assert.equal(await countOf(emulator, "refresh_tokens"), 2);
    assert.deepEqual(await refreshed(), { error: "invalid_grant", error_description: "The token is unknown" });
  });
});
