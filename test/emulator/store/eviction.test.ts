import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { trialStates } from "../../../emulator/router/trial/signups.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { evictOldest, maxUnauthenticatedRows } from "../../../emulator/store/rows.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { callbackUrl, signIn } from "../../support/identity/sign-in.ts";

const createRow = (state: string) => ({ state, provider: "ProviderA" as const });

describe("eviction of old rows", () => {
  it("retains the newest rows and protected ones", async () => {
    const store = openMemoryStore({ collections, wall: systemWallClock });
    const remaining = await store.transaction("test", (tx) => {
      for (let i = 0; i < maxUnauthenticatedRows + 3; i += 1) tx.put(trialStates, createRow(`s${i}`));
      evictOldest(tx, trialStates, { stays: ({ state }) => state === "s1" });
      return tx.list(trialStates);
    });
    assert.equal(remaining.length, maxUnauthenticatedRows + 1);
    assert.deepEqual(
      remaining.slice(0, 2).map(({ state }) => state),
      ["s1", "s3"],
    );
  });
});

describe("unauthenticated data", () => {
  it("includes codes, sessions and refresh tokens, which expire only in virtual time", async (t) => {
    const emulator = await startTestEmulator(t);
    const before = (await emulator.control("GET", "state")).body as { rows: Record<string, unknown[]> };
    const many = Array.from({ length: maxUnauthenticatedRows }, (_, i) => `s${i}`);
    const session = { cluster_id: "eu-1", user_id: 11, signed_in_at: 0 };
    const grant = { ...session, client_id: "demo-cli", scope: "openid", family: "f", used: false };
    const code = { ...grant, redirect_uri: callbackUrl, code_challenge: null, nonce: null };
    const expires_at = emulator.clock.now() + 60_000;
    const rows = {
      ...before.rows,
      authorization_codes: many.map((id, i) => ({ ...code, code: id, expires_at: expires_at + i })),
      refresh_tokens: many.map((token, i) => ({ ...grant, token, expires_at: expires_at + i })),
      sessions: many.map((id, i) => ({ ...session, id, expires_at: expires_at + i })),
    };
    const replaced = await emulator.control("PUT", "state", { body: { ...before, rows } });
    assert.ok(replaced.status < 300, JSON.stringify(replaced.body));

    await signIn(emulator, "ada@northwind.example");
    const after = ((await emulator.control("GET", "state")).body as typeof before).rows;
    for (const name of ["authorization_codes", "refresh_tokens", "sessions"] as const) {
      assert.equal(after[name]!.length, maxUnauthenticatedRows, name);
      assert.deepEqual(after[name]![0], rows[name][1], name);
    }
  });

  it("is limited by dropping the oldest sign-ins and signups", async (t) => {
    const emulator = await startTestEmulator(t);
    const before = (await emulator.control("GET", "state")).body as { rows: Record<string, unknown[]> };
    const cluster_id = emulator.clusters[0]!.id;
    const many = Array.from({ length: maxUnauthenticatedRows }, (_, i) => `s${i}`);
    const signup = { oauth_provider: null, account_details: null, claimed: false, workspace: null, answers: null };
    const filledState = {
      ...before,
      rows: {
        ...before.rows,
        trial_states: many.map(createRow),
        trial_signups: many.map((token, i) => ({ id: i + 2, token, email: `${token}@x.example`, ...signup })),
        provider_states: many.map((state) => ({ state, cluster_id, provider: "ProviderA", flow: "login" })),
      },
    };
    const replaced = await emulator.control("PUT", "state", { body: filledState });
    assert.ok(replaced.status < 300, JSON.stringify(replaced.body));

    await emulator.router("GET", "/router/v1/trial/signup/oauth");
    await emulator.router("POST", "/router/v1/trial/signup", { body: { email: "new@x.example", captcha: "yes" } });
    await emulator.router("GET", `/api/v1/svc_auth/oauth/login?cluster_id=${cluster_id}`);
    const { rows } = (await emulator.control("GET", "state")).body as typeof before;
    for (const name of ["trial_states", "trial_signups", "provider_states"]) {
      const retained = rows[name]!;
      assert.equal(retained.length, maxUnauthenticatedRows, name);
      assert.ok(
        JSON.stringify(retained[0]).includes('"s1"'),
        `${name} lost its oldest: ${JSON.stringify(retained[0])}`,
      );
    }
  });
});
