import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import decode from "salesforce-signed-request";
import { openCrmB, signCrmB } from "../../src/schemes/connected-apps.ts";
import { startTestEmulator } from "../support/emulator.ts";

interface Vector {
  readonly consumer_secret: string;
  readonly signed_request: string;
  readonly form_body: string;
  readonly negative: readonly { readonly id: string; readonly signed_request?: string; readonly form_body?: string }[];
}
const { crm_b: vector } = JSON.parse(
  readFileSync(new URL("../../fixtures/vectors/signatures-and-protocols.json", import.meta.url), "utf8"),
) as { readonly crm_b: Vector };
const { consumer_secret: secret } = vector;

const seed = { clusters: [{ id: "eu-1", label: "eu" }], apps: { crm_b: { consumer_secret: secret } } };
const form = { "content-type": "application/x-www-form-urlencoded" };

describe("crm_b with an independent verifier", () => {
  it("signs an envelope that the verifier opens", () => {
    const envelope = { algorithm: "HMACSHA256", context: { user: { fullName: "Zoë" } } };
    assert.deepEqual(decode(signCrmB(secret, JSON.stringify(envelope)), secret), envelope);
    assert.ok(decode(signCrmB("else", JSON.stringify(envelope)), secret) instanceof Error);
  });

  it("opens the same envelope as the verifier", () => {
    const verdict = openCrmB(secret, vector.signed_request);
    assert.deepEqual(verdict.ok && verdict.envelope, decode(vector.signed_request, secret));
  });

  it("shows the page for a signed request in the CRM's format", async (t) => {
    const emulator = await startTestEmulator(t, { seed });
    const { status, body } = await emulator.router("POST", "/router/v1/crm_b/", {
      body: vector.form_body,
      headers: form,
    });
    assert.equal(status, 200);
    assert.match(String(body), /id="context"/);
  });

  it("rejects the envelopes that the verifier rejects", async (t) => {
    const emulator = await startTestEmulator(t, { seed });
    for (const { id, signed_request, form_body } of vector.negative) {
      const body = form_body ?? `signed_request=${encodeURIComponent(signed_request ?? "")}`;
      const signedRequest = new URLSearchParams(body).get("signed_request") ?? "";
      assert.ok(decode(signedRequest, secret) instanceof Error, `${id}: the verifier accepts it`);
      const { status } = await emulator.router("POST", "/router/v1/crm_b/", { body, headers: form });
      assert.equal(status, 401, id);
    }
  });
});
