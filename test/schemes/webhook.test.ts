import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import {
  compareContentHash,
  contentHash,
  contentHashHeader,
  contentHashOfStream,
  verifyContentHash,
} from "../../src/schemes/webhook.ts";

const { webhook } = vectors;
const [{ hmac_key: key, body, content_hash: expected }] = webhook.vectors as [(typeof webhook.vectors)[number]];

describe("webhook signature", () => {
  it("uses the specified header", () => assert.equal(contentHashHeader, webhook.header));

  for (const vector of webhook.vectors) {
    it(`equals vector ${vector.id} for a buffer and a stream`, async () => {
      const bytes = Buffer.from(vector.body);
      assert.equal(bytes.length, vector.body_bytes);
      assert.equal(contentHash(vector.hmac_key, bytes), vector.content_hash);
      const chunks = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      assert.equal(await contentHashOfStream(vector.hmac_key, chunks), vector.content_hash);
      assert.deepEqual(verifyContentHash(vector.hmac_key, bytes, vector.content_hash), { ok: true });
    });
  }

  for (const { id, why, hmac_key, body, content_hash } of webhook.negative) {
    it(`rejects vector ${id}: ${why}`, () => {
      const reason = /^[0-9a-f]{128}$/.test(content_hash) ? "mismatch" : "malformed";
      assert.deepEqual(verifyContentHash(hmac_key, Buffer.from(body), content_hash), { ok: false, reason });
    });
  }

  it("rejects a body that differs by one byte", () =>
    assert.deepEqual(verifyContentHash(key, `${body} `, expected), { ok: false, reason: "mismatch" }));

  for (const signature of [
    undefined,
    "",
    expected.toUpperCase(),
    expected.slice(1),
    `${expected}\n`,
    `sha512=${expected}`,
  ]) {
    it(`reports ${JSON.stringify(signature?.slice(0, 12))}… as malformed without comparing signatures`, () =>
      assert.deepEqual(compareContentHash(signature, expected), { ok: false, reason: "malformed" }));
  }

  it("reports a missing key if the variable is not set", () => {
    for (const none of ["", undefined as unknown as string])
      assert.throws(() => contentHash(none, "x"), /^TypeError: The HMAC key is missing/);
  });

  for (const bad of ["SmVmZQ", "SmVmZQ== ", "SmVmZR==", "Sm_mZQ==", "Jefe!"]) {
    it(`rejects the key ${JSON.stringify(bad)} without including the key in the message`, () =>
      assert.throws(() => contentHash(bad, "x"), {
        name: "TypeError",
        message: "The HMAC key is not padded standard base64",
      }));
  }
});
