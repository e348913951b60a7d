import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail, isEmailHash } from "../../src/base/email-address.ts";

describe("e-mail address hash", () => {
  // printf ann@corp.example | sha256sum
  const ann = "25a04c95e5b8390d2cd13e937612ef5f083ba4c459e00ad0e32f6dcd71c84a78";

  it("is the lower-case hex SHA-256 of the address", () => assert.equal(hashEmail("ann@corp.example"), ann));

  it("does not depend on case or surrounding spaces", () => assert.equal(hashEmail(" \tAnn@CORP.example\n"), ann));

  it("does not depend on the composition of accented characters", () =>
    assert.equal(hashEmail("Zoë@corp.example".normalize("NFD")), hashEmail("zoë@corp.example".normalize("NFC"))));

  it("differs from an address by its format, in either case", () =>
    assert.deepEqual([ann, ann.toUpperCase(), ann.slice(1), `${ann}0`, "ann@corp.example"].map(isEmailHash), [
      true,
      true,
      false,
      false,
      false,
    ]));
});
