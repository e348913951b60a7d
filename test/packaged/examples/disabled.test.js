import assert from "node:assert/strict";
import { it } from "node:test";
import { createClient } from "svc-toolkit/client";
import { startEmulator } from "svc-toolkit/emulator";

it("disables a webhook after six failed attempts", async (t) => {
  const emulator = await startEmulator({ clock: { mode: "manual" } });
  t.after(() => emulator.close());
  const { url, clientId, clientSecret } = emulator.clusters[0];
  const client = createClient({
    baseUrls: { contracts: url, emulator: emulator.routerUrl },
    credentials: { clientId, clientSecret, controlToken: emulator.token },
  });
  t.after(() => client.close());
  const only_for_activities = ["CONTRACT_CREATED"];
  await client.call("webhooks.create", {
    body: { title: "down", url: "http://localhost:9/hooks", only_for_activities },
  });
  const poc_details = { first_name: "Jo", email: "jo@acme.example" };
  const counter_party_details = [{ is_individual: true, poc_details }];
  await client.call("contracts.create", {
    body: { contract_template_id: 101, contract_data: {}, counter_party_details },
  });

  await emulator.clock.advance({ by: 155 * 60_000 });

  const [webhook] = await client.call("emulator-webhooks.list");
  assert.equal(webhook.status, "DISABLED_BY_ERROR");
});
