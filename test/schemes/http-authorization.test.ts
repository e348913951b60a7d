import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { formatBasicHeader, parseBasic } from "../../src/schemes/http-authorization.ts";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

describe("basic credentials", () => {
  for (const { header, parsed } of vectors.http_basic) {
    const expected = parsed && { user: parsed[0], password: parsed[1] };
    it(`in ${JSON.stringify(header)} are ${JSON.stringify(expected)}`, () =>
      assert.deepEqual(parseBasic(header), expected));
  }

  it("are missing without a header or a value, or if they are not ASCII or not padded", () =>
    assert.deepEqual(
      [undefined, "", "Basic", "Basic ", basic("jörg:x"), "Basic YTo"].map(parseBasic),
      Array(6).fill(undefined),
    ));

  it("survive a round trip", () => {
    const pair = { user: "billing", password: "s3cret:with:colons" };
    assert.deepEqual(parseBasic(formatBasicHeader(pair)), pair);
  });
});
