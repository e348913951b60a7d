import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readClusterClaim, readJwtClaims } from "../../src/schemes/http-authorization.ts";

const createToken = (payload: string): string => `head.${Buffer.from(payload).toString("base64url")}.signature`;

describe("JWT claims parser", () => {
  it("decodes claims without verification", () => {
    const claims = { sub: "1", cluster: "eu-1", name: "Zoë" };
    assert.deepEqual(readJwtClaims(createToken(JSON.stringify(claims))), claims);
    assert.equal(readClusterClaim(createToken(JSON.stringify(claims))), "eu-1");
  });

  for (const token of [
    "opaque",
    "two.parts",
    `${createToken("{}")}.four`,
    createToken("["),
    createToken("[]"),
    createToken("null"),
    createToken("1"),
  ]) {
    it(`returns no claims for ${token}`, () =>
      assert.deepEqual([readJwtClaims(token), readClusterClaim(token)], [undefined, undefined]));
  }

  it("returns the cluster only if the claim is a string", () =>
    assert.deepEqual(
      ['{"cluster":1}', '{"cluster":null}', "{}"].map((payload) => readClusterClaim(createToken(payload))),
      [undefined, undefined, undefined],
    ));
});
