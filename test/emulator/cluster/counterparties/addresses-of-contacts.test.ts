import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../../support/emulator.ts";

const counterpartiesPath = "/api/v2.1/public/counter_parties/";

describe("e-mail address of a contact", () => {
  it("allows an internationalized domain, like Django and pydantic, and rejects other text", async (t) => {
    const emulator = await startTestEmulator(t);
    const create = (contact_email: string) =>
      emulator.api("POST", counterpartiesPath, { body: { is_individual: true, contact_name: "Kim", contact_email } });
    for (const email of ["kim@bücher.example", "kim@xn--bcher-kva.example", "kim+tag@пример.рф"]) {
      const { status, body } = await create(email);
      assert.deepEqual([status, (body as { contacts: { email: string }[] }).contacts[0]!.email], [201, email]);
    }
    for (const text of [
      "kim@bücher..example",
      "kim@-x.example",
      "kim\u200b@x.example",
      "kim@x.example;",
      "<kim@x.example>",
    ]) {
      assert.equal((await create(text)).status, 400, text);
    }
  });
});
