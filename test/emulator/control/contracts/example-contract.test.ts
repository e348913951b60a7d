import assert from "node:assert/strict";
import { it } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

it("triggering an activity creates a missing contract in a subscribed workspace", async (t) => {
  const emulator = await startTestEmulator(t);
  const purchases = await createWorkspaceApi(emulator, 2);
  const hook = { title: "x", url: "http://127.0.0.1:9/", only_for_activities: ["CONTRACT_SIGNED"] };
  await purchases("POST", "/api/v2.1/public/webhooks/", { body: hook });
  const fired = await emulator.control("POST", "activities", { body: { activity: "CONTRACT_SIGNED" } });
  assert.deepEqual(pickStatusAndBody(fired), {
    status: 200,
    body: { activity: "CONTRACT_SIGNED", contract_id: 1, composite_id: "T-1", deliveries: [1] },
  });
  const response = await purchases("GET", "/api/v2.1/public/contracts/T-1/status");
  assert.deepEqual(pickStatusAndBody(response), {
    status: 200,
    body: { contract_status: "DRAFT", contract_name: "Purchase Agreement - Acme Inc." },
  });
});
