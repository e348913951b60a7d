import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { signUrl, verifySignedUrl } from "../../src/schemes/signed-url.ts";

const nowMs = Date.UTC(2026, 10, 21, 5, 0, 0, 123);
const grant = { key: "storage key", method: "PUT", contentType: "application/pdf" } as const;
const signedAtMs = Date.UTC(2026, 10, 21, 5);
const { url } = signUrl({ ...grant, url: "http://127.0.0.1:4011/_storage/eu-1/a%2Fb.pdf", nowMs, expiresSeconds: 900 });
const verify = (change: Partial<Parameters<typeof verifySignedUrl>[0]>) =>
  verifySignedUrl({ ...grant, url, nowMs, ...change });
const mismatch = { ok: false, reason: "mismatch" };

describe("signed URL", () => {
  it("contains parameters with the storage's names", () =>
    assert.deepEqual(
      [...new URL(url).searchParams].map(([name, value]) => (name === "X-Sig-Signature" ? [name] : [name, value])),
      [
        ["X-Sig-Date", "20261121T050000Z"],
        ["X-Sig-Expires", "900"],
        ["X-Sig-SignedHeaders", "content-type;host"],
        ["X-Sig-Signature"],
      ],
    ));

  it("is valid until the millisecond before it expires", () =>
    assert.deepEqual([verify({}), verify({ nowMs: signedAtMs + 899_999 })], [{ ok: true }, { ok: true }]));

  it("expires at its expiry time and returns the data for the response", () =>
    assert.deepEqual(verify({ nowMs: signedAtMs + 900_000 }), {
      ok: false,
      reason: "expired",
      expiresAtMs: signedAtMs + 900_000,
      expiresSeconds: 900,
    }));

  it("ignores spaces around the content type and the order of parameters", () => {
    const [base, query = ""] = url.split("?");
    const turned = `${base}?${query.split("&").reverse().join("&")}`;
    assert.deepEqual(
      [verify({ contentType: " application/pdf " }), verify({ url: turned })],
      [{ ok: true }, { ok: true }],
    );
  });

  it("treats escaped and unescaped path characters as equal", () => {
    const { url: signed } = signUrl({
      ...grant,
      url: "http://127.0.0.1:4011/_storage/1/R%26D%2C%20a%3Db.pdf",
      nowMs,
      expiresSeconds: 900,
    });
    const otherSpellings = ["R&D,%20a=b.pdf", "R%26D,%20a=b.pdf", "%52&D%2c%20a=b.pdf"];
    assert.deepEqual(
      otherSpellings.map((name) => verify({ url: signed.replace("R%26D%2C%20a%3Db.pdf", name) })),
      otherSpellings.map(() => ({ ok: true })),
    );
  });

  const tampered: [string, Partial<Parameters<typeof verifySignedUrl>[0]>][] = [
    ["another method", { method: "GET" }],
    ["another content type", { contentType: "application/pdf; charset=utf-8" }],
    ["no content type", { contentType: undefined }],
    ["another path", { url: url.replace("b.pdf", "c.pdf") }],
    ["the same path, decoded", { url: url.replace("%2F", "/") }],
    ["another host", { url: url.replace("127.0.0.1", "localhost") }],
    ["a later expiry", { url: url.replace("Expires=900", "Expires=9000") }],
    ["a later date", { url: url.replace("T05", "T06") }],
    ["the content type missing from the signed headers", { url: url.replace("content-type%3Bhost", "host") }],
    ["an additional parameter", { url: `${url}&x=1` }],
    ["a duplicate signature", { url: `${url}&X-Sig-Signature=0` }],
    ["no signature", { url: url.replace(/&X-Sig-Signature=.*/, "") }],
    ["no query", { url: url.replace(/\?.*/, "") }],
    ["another key", { key: "another" }],
  ];
  for (const [label, change] of tampered) {
    it(`is invalid with ${label}, before or after its expiry`, () => {
      assert.deepEqual(verify(change), mismatch);
      assert.deepEqual(verify({ nowMs: nowMs + 86_400_000, ...change }), mismatch);
    });
  }

  it("allows any content type if none was specified", () => {
    const { url: open } = signUrl({
      key: "k",
      method: "GET",
      url: "http://h/f?name=a%20b",
      nowMs,
      expiresSeconds: 900,
    });
    const check = (contentType?: string) => verifySignedUrl({ key: "k", method: "GET", url: open, nowMs, contentType });
    assert.deepEqual([check(), check("text/plain")], [{ ok: true }, { ok: true }]);
  });
});
