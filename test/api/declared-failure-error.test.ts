import assert from "node:assert/strict";
import { it } from "node:test";
import { DeclaredFailureError } from "../../src/api/failures.ts";

it("DeclaredFailureError captures no stack and leaves other errors unchanged", () => {
  const error = new DeclaredFailureError("unknown-cluster", undefined);
  assert.equal(error.stack, "Refusal: rejected: unknown-cluster");
  assert.equal(error instanceof Error, true);
  assert.match(new Error("wrong").stack ?? "", /^Error: wrong\n +at /);
});
