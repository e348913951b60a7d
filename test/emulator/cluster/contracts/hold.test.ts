import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type ContractIds, createDraftContract } from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";

const performAction = async ({ control }: TestEmulator, verb: string, { id }: ContractIds) => {
  const { status, body } = await control("POST", `contracts/${id}/${verb}`, { body: {} });
  assert.equal(status, 200, JSON.stringify(body));
};

/** A contract put on hold before its e-mails arrive, and the e-mail activities emitted afterwards. */
async function startOnHold(t: TestContext, overrides: object = {}) {
  const emulator = await startTestEmulator(t);
  const readPayloads = await subscribe(t, emulator, [
    "SIGNING_EMAIL_DELIVERED",
    "SIGNING_EMAIL_NOT_DELIVERED",
    "REDLINING_EMAIL_DELIVERED",
  ]);
  const contract = await createDraftContract(emulator.api, overrides);
  await performAction(emulator, "send", contract);
  await performAction(emulator, "hold", contract);
  const later = async (by: string) => {
    await emulator.control("POST", "clock/advance", { body: { by } });
    return (await readPayloads()).map(({ activity, contract_status, activity_data: { email_event_data: mail } }) => [
      activity,
      contract_status,
      (mail as { recipient_email: string }).recipient_email,
    ]);
  };
  return { emulator, contract, later };
}

describe("pending e-mail of a contract on hold", () => {
  for (const [template, activity, status] of [
    [101, "SIGNING_EMAIL_DELIVERED", "SIGN"],
    [104, "REDLINING_EMAIL_DELIVERED", "REDLINING"],
  ] as const) {
    it(`is delivered once, a minute after the contract resumes in ${status}`, async (t) => {
      const { emulator, contract, later } = await startOnHold(t, { contract_template_id: template });
      assert.deepEqual(await later("PT1H"), []);
      await performAction(emulator, "resume", contract);
      assert.deepEqual(await later("PT50S"), []);
      assert.deepEqual(await later("PT1H"), [[activity, status, "jo@acme.example"]]);
      await performAction(emulator, "hold", contract);
      await performAction(emulator, "resume", contract);
      assert.deepEqual(await later("PT1H"), []);
    });
  }

  it("is skipped if the provider reported another outcome in the meantime", async (t) => {
    const { emulator, contract, later } = await startOnHold(t);
    const { body } = await emulator.control("GET", "emails");
    const [{ metadata: Metadata }] = (body as { items: [{ metadata: object }] }).items;
    await emulator.router("POST", "/api/v1/emails/mailer/webhook", { body: { RecordType: "Bounce", Metadata } });
    assert.deepEqual(await later("PT1H"), [["SIGNING_EMAIL_NOT_DELIVERED", "ON_HOLD", "jo@acme.example"]]);
    await performAction(emulator, "resume", contract);
    assert.deepEqual(await later("PT1H"), []);
  });
});
