import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import type { HeadersInput } from "../../src/schemes/published.d.ts";
import { verifyDelivery } from "../../src/schemes/webhook.ts";

const [{ hmac_key: hmacKey, body, content_hash: hash }] = vectors.webhook.vectors as [
  (typeof vectors.webhook.vectors)[number],
];
const header = vectors.webhook.header;
const verify = (headers: HeadersInput, content: string | Uint8Array = body) =>
  verifyDelivery({ body: content, headers, hmacKey });

describe("delivery verification", () => {
  const headerForms: [string, HeadersInput][] = [
    ["headers in their original case", { [header]: hash }],
    ["headers in lower case", { "content-type": "application/json", [header.toLowerCase()]: hash }],
    ["headers as lists", { [header.toLowerCase()]: [hash, "another"] }],
    ["a Headers object", new Headers({ [header]: hash })],
    ["a header named get", { get: "this", [header]: hash }],
  ];
  for (const [label, headers] of headerForms) {
    it(`accepts ${label}`, () => {
      assert.deepEqual(verify(headers), { ok: true });
      assert.deepEqual(verify(headers, Buffer.from(body)), { ok: true });
      assert.deepEqual(verify(headers, `${body} `), { ok: false, reason: "mismatch" });
    });
  }

  it("accepts the bytes of a buffer, and of a part of it", () => {
    const { buffer } = new Uint8Array(Buffer.from(body));
    const padded = new Uint8Array(Buffer.from(`<${body}>`));
    const parts = [buffer, new DataView(buffer), padded.subarray(1, -1)];
    assert.deepEqual(
      parts.map((part) => verifyDelivery({ body: part, headers: { [header]: hash }, hmacKey })),
      parts.map(() => ({ ok: true })),
    );
    assert.deepEqual(verify({ [header]: hash }, padded), { ok: false, reason: "mismatch" });
  });

  for (const headers of [{}, { [header]: undefined }, { [header]: [] }, new Headers({ other: hash })]) {
    it(`reports a missing header in ${JSON.stringify(headers)}`, () =>
      assert.deepEqual(verify(headers), { ok: false, reason: "missing" }));
  }

  it("reports a header of another scheme", () =>
    assert.deepEqual(verify({ [header]: `sha512=${hash}` }), { ok: false, reason: "malformed" }));

  it("rejects an already parsed body", () =>
    assert.throws(() => verify({ [header]: hash }, { parsed: true } as never), {
      name: "TypeError",
      message: "The body must be the raw bytes, not a parsed value",
    }));

  for (const [label, options, message] of [
    ["is missing", undefined, "is missing. Check that its variable is set."],
    ["is an empty string", "", "is missing. Check that its variable is set."],
    ["is not base64", "s3cr3t!", "is not padded standard base64"],
    ["is decoded", Buffer.from(hmacKey, "base64") as unknown, "must be a base64 string, not decoded bytes"],
  ] as const) {
    it(`rejects a key that ${label}, with or without a signature`, () => {
      for (const headers of [{}, { [header]: hash }])
        assert.throws(() => verifyDelivery({ body, headers, hmacKey: options as string }), {
          name: "TypeError",
          message: `verifyDelivery: hmacKey ${message}`,
        });
    });
  }

  it("names other missing arguments", () => {
    const verified = (input: object) => () => verifyDelivery(input as Parameters<typeof verifyDelivery>[0]);
    assert.throws(verified({ hmacKey, body }), { message: "verifyDelivery: headers are required" });
    for (const unsupported of [[header, hash], new Map([[header, hash]])])
      assert.throws(verified({ hmacKey, body, headers: unsupported }), {
        message: "verifyDelivery: headers must be an object or a Headers, not an array (rawHeaders) or a Map",
      });
    assert.throws(verified({ hmacKey, headers: {} }), { message: "verifyDelivery: body is required" });
  });
});
