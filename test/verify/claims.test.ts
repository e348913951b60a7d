import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findClaim, findOperationById } from "../../src/verify/replay/claims.ts";

describe("claim that a rejected request confirms", () => {
  const nameClaim = (code: string, message: string) => {
    const body = { detail: message, status_code: 400, code, message };
    return findClaim(findOperationById("contracts.send")!, 400, body).name;
  };

  it("is the failure with the response's message, among several with its status", () =>
    assert.deepEqual(
      [
        nameClaim("SVC_ASSUMED_101", "A contract in status VOIDED cannot be sent to counterparties."),
        nameClaim("SVC_ASSUMED_102", "No signatories are configured for this contract."),
      ],
      ["contracts.send forbidden-move", "contracts.send no-signatories"],
    ));

  it("is invalid input if no failure has the response's message", () =>
    assert.equal(nameClaim("SVC_ASSUMED_101", "The contract is locked."), "contracts.send invalid-fields"));
});
