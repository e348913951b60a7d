import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, it } from "node:test";
import { createClient } from "svc-toolkit/client";
import { startEmulator } from "svc-toolkit/emulator";
import { verifyDelivery } from "svc-toolkit/webhooks";

let emulator;
let client;
before(async () => {
  emulator = await startEmulator({ clock: { mode: "manual" } });
  const [{ url, clientId, clientSecret }] = emulator.clusters;
  client = createClient({
    baseUrls: { contracts: url, emulator: emulator.routerUrl },
    credentials: { clientId, clientSecret, controlToken: emulator.token },
  });
});
after(async () => {
  await client.close();
  await emulator.close();
});

it("receives a signed webhook for a signature", async (t) => {
  const deliveries = [];
  const receiver = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    deliveries.push({ body, headers: request.headers });
    response.end();
  }).listen(0);
  t.after(() => receiver.close());
  const url = `http://localhost:${receiver.address().port}/hooks`;
  const only_for_activities = ["CONTRACT_SIGNED"];
  await client.call("webhooks.create", { body: { title: "test", url, only_for_activities } });

  const { id } = await client.call("contracts.create", {
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
    },
  });
  await client.call("contracts.send", { params: { composite_id: id } });
  await client.call("emulator-contracts.sign", { params: { id } });
  await emulator.clock.advance({ by: 60_000 });

  assert.equal(deliveries.length, 1);
  assert.deepEqual(verifyDelivery({ ...deliveries[0], hmacKey: emulator.clusters[0].hmacKey }), { ok: true });
});
