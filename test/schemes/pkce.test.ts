import assert from "node:assert/strict";
import { it } from "node:test";
import vectors from "../../fixtures/vectors/signatures-and-protocols.json" with { type: "json" };
import { computeCodeChallenge } from "../../src/schemes/http-authorization.ts";

it("code challenge equals the example in RFC 7636, appendix B", () =>
  assert.equal(computeCodeChallenge(vectors.pkce.code_verifier), vectors.pkce.code_challenge));
