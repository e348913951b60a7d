import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activities } from "../../../src/api/activities.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { contentHash, contentHashHeader } from "../../../src/schemes/webhook.ts";
import { begin, draft, statusOf } from "../../support/contracts.ts";
import { emulator } from "../../support/emulator.ts";
import { receiver } from "../../support/receiver.ts";

/** What no operation brings about: it happens in mail programs, in the application, or outside. */
const onlyFired = [
  "CONTRACT_PROCESS_METRIC_UPDATED",
  "CONTRACT_ENTITY_UPDATED",
  "MAILER_EMAIL_EVENT",
  "SIGNING_EMAIL_OPENED",
  "SIGNING_EMAIL_NOT_DELIVERED",
  "SIGNING_EMAIL_LINK_CLICKED",
  "REDLINING_EMAIL_OPENED",
  "REDLINING_EMAIL_NOT_DELIVERED",
  "REDLINING_EMAIL_LINK_CLICKED",
];

describe("each of the 39 activities", () => {
  for (const activity of activities) {
    it(`${activity} can be fired, and is delivered signed, about a contract that stays as it is`, async (t) => {
      const { api, ask, clusters } = await emulator(t);
      const target = await receiver(t);
      const contract = await draft(api);
      await api("POST", "/api/v2.1/public/webhooks/", {
        body: { title: "test", url: target.url, only_for_activities: [activity] },
      });
      const data = { probe: activity };
      const { status, body } = await ask("POST", "activities", {
        body: { activity, contract_id: contract.id, data, wait: true },
      });
      assert.deepEqual(
        { status, body },
        {
          status: 200,
          body: { activity, contract_id: contract.number, composite_id: contract.id, deliveries: [1] },
        },
      );
      assert.equal(target.received.length, 1);
      const [came] = target.received;
      const signature = came!.headers[contentHashHeader.toLowerCase()];
      assert.equal(contentHash(clusters[0]!.hmacKey!, came!.body), signature);
      const told = JSON.parse(came!.body.toString("utf8"));
      assert.equal(told.activity, activity);
      assert.equal(told.contract_id, contract.number);
      assert.equal(told.activity_data.probe, activity);
      assert.equal(told.activity_data.timestamp, begin.replace("Z", ".000000Z"));
      assert.equal(await statusOf(api, contract), "DRAFT");
    });
  }

  it("is brought about by some operation too, but for those that happen outside", () => {
    const caused = new Set(
      (registry as readonly Operation[])
        .filter(({ id }) => id !== "activities.fire")
        .flatMap(({ emits = [] }) => emits),
    );
    assert.deepEqual(
      activities.filter((activity) => !caused.has(activity)),
      onlyFired,
    );
  });
});
