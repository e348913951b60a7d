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
const countOf = async ({ ask }: TestEmulator, collection: string) => {
  const { rows } = (await ask("GET", "state")).body as { rows: Record<string, readonly unknown[]> };
  return rows[collection]?.length ?? 0;
};

describe("removal of expired rows", () => {
  it("removes a code ten minutes after its expiry when the next is issued", async (t) => {
    const world = await startTestEmulator(t);
    const code = await getAuthorizationCode(world, ada);
    await world.clock.advance({ by: 20 * minute - 1 });
    await getAuthorizationCode(world, ada);
    assert.equal(await countOf(world, "authorization_codes"), 2);
    const expired = { error: "invalid_grant", error_description: "The code has expired" };
    assert.deepEqual((await requestToken(world, createExchangeFields(code))).body, expired);

    await world.clock.advance({ by: 1 });
    await getAuthorizationCode(world, ada);
    assert.equal(await countOf(world, "authorization_codes"), 2);
    const unknown = { error: "invalid_grant", error_description: "The code is unknown" };
    assert.deepEqual((await requestToken(world, createExchangeFields(code))).body, unknown);
  });

  it("removes an ended session when the next one starts", async (t) => {
    const world = await startTestEmulator(t);
    await authorize(world, { svc_user: ada });
    await world.clock.advance({ by: 12 * 60 * minute - 1 });
    await authorize(world, { svc_user: ada });
    assert.equal(await countOf(world, "sessions"), 2);
    await world.clock.advance({ by: 1 });
    await authorize(world, { svc_user: ada });
    assert.equal(await countOf(world, "sessions"), 2);
  });

  it("removes a refresh token a day after its expiry when the next is issued", async (t) => {
    const world = await startTestEmulator(t);
    const { refresh_token } = await signIn(world, ada);
    const refreshed = async () =>
      (await requestToken(world, { client_id: "demo-cli", grant_type: "refresh_token", refresh_token })).body;
    await world.clock.advance({ by: 31 * day - 1 });
    await signIn(world, ada);
    assert.equal(await countOf(world, "refresh_tokens"), 2);
    assert.deepEqual(await refreshed(), { error: "invalid_grant", error_description: "The token has expired" });

    await world.clock.advance({ by: 1 });
    await signIn(world, ada);
    assert.equal(await countOf(world, "refresh_tokens"), 2);
    assert.deepEqual(await refreshed(), { error: "invalid_grant", error_description: "The token is unknown" });
  });
});
