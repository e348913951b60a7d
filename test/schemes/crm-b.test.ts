import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { openCrmB, signCrmB } from "../../src/schemes/connected-apps.ts";

const { crm_b: crmB } = vectors;
const secret = crmB.consumer_secret;

describe("crm_b signed request", () => {
  it("equals the vector", () => assert.equal(signCrmB(secret, crmB.envelope_json), crmB.signed_request));

  it("decodes to its envelope, also from a form", () => {
    const envelope = JSON.parse(crmB.envelope_json);
    const posted = new URLSearchParams(crmB.form_body).get("signed_request") ?? "";
    assert.deepEqual(openCrmB(secret, crmB.signed_request), { ok: true, envelope });
    assert.deepEqual(openCrmB(secret, posted), { ok: true, envelope });
  });

  const reasons: Record<string, string> = {
    B2: "mismatch",
    B3: "mismatch",
    B4: "malformed",
    B5: "malformed",
    B6: "malformed",
    B7: "unknown-algorithm",
    B8: "malformed",
  };
  for (const { id, why: reason, signed_request } of crmB.negative) {
    it(`rejects vector ${id}: ${reason}`, () =>
      assert.deepEqual(openCrmB(secret, signed_request), { ok: false, reason: reasons[id] }));
  }

  for (const { id, signed_request } of crmB.tolerant) {
    it(`accepts vector ${id} in the URL-safe alphabet`, () => assert.equal(openCrmB(secret, signed_request).ok, true));
  }

  it("accepts an envelope with a lower-case algorithm or without one", () =>
    assert.deepEqual(
      ["{}", '{"algorithm":"hmacsha256"}'].map((json) => openCrmB(secret, signCrmB(secret, json)).ok),
      [true, true],
    ));

  it("rejects a signed envelope that is not an object", () =>
    assert.deepEqual(
      ["[]", "null", '"text"', "1"].map((json) => openCrmB(secret, signCrmB(secret, json))),
      Array(4).fill({ ok: false, reason: "malformed" }),
    ));
});
