import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract } from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

describe("triggering an activity", () => {
  it("uses the newest contract of any workspace by default", async (t) => {
    const emulator = await startTestEmulator(t);
    const fire = () => emulator.control("POST", "activities", { body: { activity: "CONTRACT_SIGNED" } });
    const createResponse = (contract_id: number) => ({
      status: 200,
      body: { activity: "CONTRACT_SIGNED", contract_id, composite_id: `T-${contract_id}`, deliveries: [] },
    });
    const bare = await startTestEmulator(t, { seed: "empty" });
    await assertRejected(bare, () => bare.control("POST", "activities", { body: { activity: "CONTRACT_SIGNED" } }), {
      status: 404,
      body: {
        error: {
          code: "no_contract_or_template",
          message: "No contract or template exists for the activity.",
          hint: "Start with a seed that has a template, such as demo.",
        },
      },
    });
    const purchases = await createWorkspaceApi(emulator, 2);
    const [first, second] = [
      await createDraftContract(purchases, { contract_template_id: 103 }),
      await createDraftContract(emulator.api),
    ];
    const third = await createDraftContract(purchases, { contract_template_id: 103 });
    assert.deepEqual(pickStatusAndBody(await fire()), createResponse(third.number));
    await emulator.control("POST", `contracts/${third.id}/delete`);
    assert.deepEqual(pickStatusAndBody(await fire()), createResponse(second.number));
    await emulator.control("POST", `contracts/${second.id}/delete`);
    assert.deepEqual(pickStatusAndBody(await fire()), createResponse(first.number));
  });

  it("previews the payload of a new contract without creating it", async (t) => {
    const emulator = await startTestEmulator(t);
    const readState = async () => (await emulator.control("GET", "state")).body;
    const preview = async () => {
      const { body } = await emulator.control("POST", "activities", {
        body: { activity: "CONTRACT_SIGNED", preview: true },
      });
      const { payload, ...rest } = body as { payload: { contract_id: number } };
      return { ...rest, payloadId: payload.contract_id };
    };
    const before = await readState();
    const expected = { activity: "CONTRACT_SIGNED", contract_id: 1, composite_id: "T-1", deliveries: [], payloadId: 1 };
    assert.deepEqual(await preview(), { ...expected, is_new_contract: true });
    assert.deepEqual(await readState(), before);
    await createDraftContract(emulator.api);
    assert.deepEqual(await preview(), expected);
  });

  it("rejects an activity without a subscriber if the request waits for an attempt", async (t) => {
    const emulator = await startTestEmulator(t);
    const body = { activity: "CONTRACT_SIGNED", wait: true };
    await assertRejected(emulator, () => emulator.control("POST", "activities", { body }), {
      status: 409,
      body: {
        error: { code: "no_subscriber", message: "No webhook is subscribed to CONTRACT_SIGNED. Nothing was sent." },
      },
    });
  });

  it("adds the given keys to activity_data", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["SIGNING_EMAIL_OPENED"]);
    const data = { device: "phone" };
    await emulator.control("POST", "activities", {
      body: { activity: "SIGNING_EMAIL_OPENED", contract_id: "T-1", data },
    });
    const [openedEvent] = await readPayloads();
    assert.deepEqual(openedEvent?.activity_data, {
      performed_by: { name: "SYSTEM" },
      timestamp: "2031-01-02T03:04:05.000000Z",
      email_event_data: {
        recipient_email: "jo@acme.example",
        email_mode: "to",
        occured_at: "2031-01-02T03:04:05.000000Z",
      },
      device: "phone",
    });
  });

  it("overrides fields of the payload and rejects unknown ones", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNED"]);
    const fire = (overrides: object) =>
      emulator.control("POST", "activities", {
        body: { activity: "CONTRACT_SIGNED", contract_id: 1, overrides, wait: true },
      });
    assert.equal((await fire({ contract_title: "Lease" })).status, 200);
    await assertRejected(emulator, () => fire({ "activity_data.performed_by.nme": "Jo" }), {
      status: 400,
      body: {
        error: { code: "no_such_field", message: "The payload has no activity_data.performed_by.nme. Known: name." },
      },
    });
    assert.deepEqual(
      (await readPayloads()).map(({ contract_title }) => contract_title),
      ["Lease"],
    );
  });
});
