import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activities } from "../../../../src/api/activities.ts";
import { contentHash, contentHashHeader } from "../../../../src/schemes/webhook.ts";
import { createDraftContract, getContractStatus, initialTime } from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { startTestEmulator } from "../../../support/emulator.ts";
import { startReceiver } from "../../../support/receiver.ts";

describe("trigger of each of the 39 activities", () => {
  for (const activity of activities) {
    it(`delivers a signed ${activity} without changing its contract`, async (t) => {
      const { api, control, clusters } = await startTestEmulator(t);
      const target = await startReceiver(t);
      const contract = await createDraftContract(api);
      await api("POST", "/api/v2.1/public/webhooks/", {
        body: { title: "test", url: target.url, only_for_activities: [activity] },
      });
      const data = { probe: activity };
      const { status, body } = await control("POST", "activities", {
        body: { activity, contract_id: contract.id, data, wait: true },
      });
      assert.deepEqual(
        { status, body },
        { status: 200, body: { activity, contract_id: contract.number, composite_id: contract.id, deliveries: [1] } },
      );
      assert.equal(target.received.length, 1);
      const [came] = target.received;
      const signature = came!.headers[contentHashHeader.toLowerCase()];
      assert.equal(contentHash(clusters[0]!.hmacKey!, came!.body), signature);
      const payload = JSON.parse(came!.body.toString("utf8"));
      assert.equal(payload.activity, activity);
      assert.equal(payload.contract_id, contract.number);
      assert.equal(payload.activity_data.probe, activity);
      assert.equal(payload.activity_data.timestamp, initialTime.replace("Z", ".000000Z"));
      assert.equal(await getContractStatus(api, contract), "DRAFT");
    });
  }
});

describe("custom payload", () => {
  it("adds and removes fields or replaces the payload, and rejects invalid changes", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNED"]);
    const fire = (changes: object) =>
      emulator.control("POST", "activities", { body: { activity: "CONTRACT_SIGNED", contract_id: 1, ...changes } });
    const rejectedEdits: [object, string, string][] = [
      [{ removals: ["contract_tags"] }, "no_such_field", "The payload has no contract_tags."],
      [{ additions: { contract_title: "x" } }, "field_exists", "Cannot add contract_title"],
      [{ additions: { "contract_title.x": 1 } }, "no_such_field", "The payload has no contract_title.x. Known:"],
      [{ additions: { "counterparties.2": {} } }, "no_such_field", "The payload has no counterparties.2."],
      [{ payload: { a: 1 }, overrides: { b: 1 } }, "no_such_field", "The payload has no b. Known: a."],
    ];
    for (const [changes, code, message] of rejectedEdits) {
      const { status, body } = await fire(changes);
      const { error } = body as { error: { code: string; message: string } };
      assert.deepEqual([status, error.code, error.message.startsWith(message)], [400, code, true], error.message);
    }
    assert.equal((await fire({ payload: {}, data: {} })).status, 400);
    const amendments = {
      overrides: { contract_title: "Lease" },
      removals: ["business_user", "counterparties.0.poc_name"],
      additions: { tags: ["a"], "counterparties.1": { type: "Individual" } },
    };
    const preview = await fire({ ...amendments, preview: true });
    await fire(amendments);
    const [amended] = await readPayloads();
    await fire({ payload: { any: "thing" } });
    const [raw] = await readPayloads();
    assert.deepEqual(preview, {
      status: 200,
      headers: preview.headers,
      body: { activity: "CONTRACT_SIGNED", contract_id: 1, composite_id: "T-1", deliveries: [], payload: amended },
    });
    const { contract_title, business_user, counterparties, tags } = amended as Record<string, unknown>;
    assert.deepEqual(
      { contract_title, business_user, tags, counterparties: (counterparties as object[]).map(Object.keys) },
      {
        contract_title: "Lease",
        business_user: undefined,
        tags: ["a"],
        counterparties: [["type", "organization_name", "poc_email", "counterparty_id"], ["type"]],
      },
    );
    assert.deepEqual(raw, { any: "thing" });
  });
});
