import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { formatBasicHeader, parseBasic } from "../../src/schemes/http-authorization.ts";

const createBasicAuthorization = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

describe("Basic credentials parser", () => {
  for (const { header, parsed } of vectors.http_basic) {
    const expected = parsed && { user: parsed[0], password: parsed[1] };
    it(`parses ${JSON.stringify(header)} as ${JSON.stringify(expected)}`, () =>
      assert.deepEqual(parseBasic(header), expected));
  }

  it("returns undefined for a missing, non-ASCII or unpadded value", () =>
    assert.deepEqual(
      [undefined, "", "Basic", "Basic ", createBasicAuthorization("jörg:x"), "Basic YTo"].map(parseBasic),
      Array(6).fill(undefined),
    ));

  it("survives a round trip", () => {
    const pair = { user: "billing", password: "s3cret:with:colons" };
    assert.deepEqual(parseBasic(formatBasicHeader(pair)), pair);
  });
});
