import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { signChatA, verifyChatA } from "../../src/schemes/connected-apps.ts";

const { signing_secret: signingSecret, vectors: good, negative, age_cases_s: ages } = vectors.chat_a;
const secondsToMs = (timestamp: string) => Number(timestamp) * 1_000;

describe("chat_a signature", () => {
  for (const { id, timestamp, body, signature } of good) {
    it(`equals vector ${id}`, () => {
      assert.equal(signChatA({ signingSecret, timestamp, body }), signature);
      const nowMs = secondsToMs(timestamp);
      assert.deepEqual(verifyChatA({ signingSecret, timestamp, body, signature, nowMs }), { ok: true });
    });
  }

  for (const { id, why: reason, timestamp, body, signature } of negative) {
    it(`rejects vector ${id}: ${reason}`, () => {
      const nowMs = secondsToMs(timestamp);
      const verdict = verifyChatA({ signingSecret, timestamp, body, signature, nowMs });
      assert.deepEqual(verdict, { ok: false, reason: "mismatch" });
    });
  }

  const verify = (change: Partial<Parameters<typeof verifyChatA>[0]>) => {
    const { timestamp, body, signature } = good[0]!;
    return verifyChatA({ signingSecret, timestamp, body, signature, nowMs: secondsToMs(timestamp), ...change });
  };

  for (const { age, ok } of ages) {
    it(`${ok ? "accepts" : "rejects"} a request that is ${age} seconds old`, () =>
      assert.deepEqual(
        // The last instant of that second: the age counts whole seconds.
        verify({ nowMs: secondsToMs(good[0]!.timestamp) + age * 1_000 + 999 }),
        ok ? { ok: true } : { ok: false, reason: "stale" },
      ));
  }

  it("rejects another version and missing or non-numeric headers", () =>
    assert.deepEqual(
      [
        verify({ signature: good[0]!.signature.replace("v0", "v1") }),
        verify({ signature: undefined }),
        verify({ timestamp: undefined }),
        verify({ timestamp: "soon" }),
        verify({ timestamp: `${good[0]!.timestamp}.0` }),
      ].map((verdict) => (verdict.ok ? "ok" : verdict.reason)),
      ["mismatch", "missing", "missing", "stale", "stale"],
    ));
});
