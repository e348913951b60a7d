import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { activities } from "../../../src/api/activities.ts";
import { webhookPayloads } from "../../../src/api/contracts/webhook-payloads.ts";
import { subscribe } from "../../support/delivered-events.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

/** Returns the payload without undeclared fields. */
function parseDeclaredPayload(payload: { readonly activity: string }): unknown {
  const schema = webhookPayloads.get(payload.activity as (typeof activities)[number])!;
  const { activity_data, ...rest } = schema.shape as Record<string, z.ZodObject>;
  return z.strictObject({ ...rest, activity_data: z.strictObject(activity_data!.shape) }).parse(payload);
}

const create = ({ api }: TestEmulator) =>
  api("POST", "/api/v2.1/public/contracts/", {
    body: {
      contract_template_id: 101,
      contract_data: {},
      counter_party_details: [
        {
          is_individual: false,
          organization_name: "Acme Inc.",
          organization_type: "Corporation",
          poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
        },
      ],
      external_metadata: { id: "deal-1" },
    },
  });

describe("webhook payload", () => {
  it("matches the documentation for each of the 39 activities", async (t) => {
    const emulator = await startTestEmulator(t);
    await create(emulator);
    for (const activity of activities) {
      const { body } = await emulator.control("POST", "activities", { body: { activity, preview: true } });
      const { payload } = body as { payload: { activity: string } };
      assert.deepEqual(parseDeclaredPayload(payload), payload);
    }
  });

  it("matches the documentation after real activities", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, activities);
    await create(emulator);
    const { api, control } = emulator;
    const value = { key_pointer_field_name: "expiry_date", value: "2032-01-01" };
    await api("POST", "/api/v2.1/public/contracts/T-1/key_pointers/bulk", { body: { key_pointers: [value] } });
    await api("POST", "/api/v2.1/public/contracts/1/comments/", { body: { comment: "Soon" } });
    await api("POST", "/api/v2.1/public/counter_parties/", {
      body: { is_individual: true, contact_name: "Kim Lee", contact_email: "kim@lee.example" },
    });
    await api("POST", "/api/v2.1/public/contracts/T-1/send_to_counterparties");
    await control("POST", "clock/advance", { body: { by: "PT5M" } });
    await control("POST", "contracts/T-1/sign", { body: {} });
    const payloads = await readPayloads();
    assert.ok(payloads.length >= 8, `only ${payloads.length} were emitted`);
    for (const payload of payloads) assert.deepEqual(parseDeclaredPayload(payload), payload);
  });
});
