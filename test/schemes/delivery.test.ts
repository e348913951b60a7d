import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { type GivenHeaders, verifyDelivery } from "../../src/schemes/delivery.ts";

const [{ hmac_key: hmacKey, body, content_hash: hash }] = vectors.webhook.vectors as [
  (typeof vectors.webhook.vectors)[number],
];
const name = vectors.webhook.header;
const verify = (headers: GivenHeaders, given: string | Uint8Array = body) =>
  verifyDelivery({ body: given, headers, hmacKey });

describe("verifying a delivery", () => {
  const ways: [string, GivenHeaders][] = [
    ["headers as they were sent", { [name]: hash }],
    [
      "headers in lower case, as node:http gives them",
      { "content-type": "application/json", [name.toLowerCase()]: hash },
    ],
    ["headers as lists", { [name.toLowerCase()]: [hash, "another"] }],
    ["a Headers", new Headers({ [name]: hash })],
    ["a header that is called get", { get: "this", [name]: hash }],
  ];
  for (const [what, headers] of ways) {
    it(`takes ${what}`, () => {
      assert.deepEqual(verify(headers), { ok: true });
      assert.deepEqual(verify(headers, Buffer.from(body)), { ok: true });
      assert.deepEqual(verify(headers, `${body} `), { ok: false, reason: "mismatch" });
    });
  }

  for (const headers of [{}, { [name]: undefined }, { [name]: [] }, new Headers({ other: hash })]) {
    it(`says that the header is missing from ${JSON.stringify(headers)}`, () =>
      assert.deepEqual(verify(headers), { ok: false, reason: "missing" }));
  }

  it("says that the header is of another scheme", () =>
    assert.deepEqual(verify({ [name]: `sha512=${hash}` }), { ok: false, reason: "malformed" }));

  it("refuses a body that was parsed already", () =>
    assert.throws(() => verify({ [name]: hash }, { parsed: true } as never), {
      name: "TypeError",
      message: "The body was parsed already; give the raw bytes as they came",
    }));
});
