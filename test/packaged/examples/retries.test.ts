import { createClient } from "svc-toolkit/client";
import { type Emulator, startEmulator } from "svc-toolkit/emulator";
import { afterEach, beforeEach, expect, it } from "vitest";

let emulator: Emulator;
beforeEach(async () => {
  emulator = await startEmulator({ clock: { mode: "manual" } });
});
afterEach(() => emulator.close());

it("tries a dead receiver six times in 155 minutes, then disables it", async () => {
  const { url, clientId, clientSecret } = emulator.clusters[0]!;
  const client = createClient({
    baseUrls: { contracts: url, emulator: emulator.routerUrl },
    credentials: { clientId, clientSecret, controlToken: emulator.token },
  });
  await client.call("webhooks.create", {
    body: { title: "dead", url: "http://127.0.0.1:1/", only_for_activities: ["CONTRACT_CREATED"] },
  });
  const { id } = await client.call("contracts.create", {
    body: {
      contract_template_id: 101,
      contract_data: {},
      counter_party_details: [
        {
          is_individual: false,
          organization_name: "Acme Inc.",
          organization_type: "Corporation",
          poc_details: { first_name: "Jo", email: "jo@acme.example" },
        },
      ],
    },
  });

  await emulator.clock.advance({ by: 155 * 60_000 });

  const { items } = await client.call("deliveries.list", { query: { contract: id } });
  expect(items[0]?.attempts).toHaveLength(6);
  const [webhook] = await client.call("emulator-webhooks.list");
  expect(webhook?.status).toBe("DISABLED_BY_ERROR");
  await client.close();
});
