import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { standardWebhookHeaders, verifyStandardWebhook } from "../../src/schemes/webhook.ts";

const { standard_webhooks: vector } = vectors;
const { secret, body } = vector;
const headers = {
  "webhook-id": vector["webhook-id"],
  "webhook-timestamp": vector["webhook-timestamp"],
  "webhook-signature": vector["webhook-signature"],
};
const sentMs = Number(headers["webhook-timestamp"]) * 1_000;
const verify = (change: Partial<Parameters<typeof verifyStandardWebhook>[0]>) =>
  verifyStandardWebhook({ ...headers, secret, body, nowMs: sentMs, ...change });

describe("Standard Webhooks signature", () => {
  const message = { id: headers["webhook-id"], timestamp: headers["webhook-timestamp"], body };

  it("equals the test vector, with or without the secret prefix", () => {
    assert.deepEqual(standardWebhookHeaders({ ...message, secret }), headers);
    assert.deepEqual(standardWebhookHeaders({ ...message, secret: secret.replace("whsec_", "") }), headers);
  });

  it("accepts timestamps within the tolerance in both directions", () => {
    const tolerance = vector.tolerance_s * 1_000;
    const verifyAt = (offset: number) => verify({ nowMs: sentMs + offset });
    assert.deepEqual(
      [verifyAt(0), verifyAt(tolerance), verifyAt(-tolerance)],
      [{ ok: true }, { ok: true }, { ok: true }],
    );
    const stale = { ok: false, reason: "stale" };
    assert.deepEqual([verifyAt(tolerance + 1_000), verifyAt(-tolerance - 1_000)], [stale, stale]);
  });

  it("accepts any one of several signatures", () =>
    assert.deepEqual(verify({ "webhook-signature": `v1a,abc v1,AAAA ${headers["webhook-signature"]}` }), { ok: true }));

  const rejectedCases: [string, Parameters<typeof verify>[0], string][] = [
    ["another id", { "webhook-id": "msg_2" }, "mismatch"],
    ["another body", { body: `${body} ` }, "mismatch"],
    ["another secret", { secret: "whsec_AAAA" }, "mismatch"],
    ["a non-numeric timestamp", { "webhook-timestamp": "now" }, "stale"],
    ["a missing header", { "webhook-signature": "" }, "missing"],
  ];
  for (const [label, change, reason] of rejectedCases) {
    it(`rejects ${label}`, () => assert.deepEqual(verify(change), { ok: false, reason }));
  }

  it("requires the current time, because any message would be fresh without it", () => {
    for (const nowMs of [undefined, Number.NaN, "now"] as unknown as number[])
      assert.throws(() => verify({ nowMs }), { name: "TypeError", message: /nowMs/ });
  });

  it("rejects a secret that is not base64", () =>
    assert.throws(() => standardWebhookHeaders({ ...message, secret: "whsec_?" }), { name: "TypeError" }));
});
