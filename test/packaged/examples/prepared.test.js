import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, it } from "node:test";
import { createClient } from "svc-toolkit/client";
import { startEmulator } from "svc-toolkit/emulator";

let prepared;
let emulator;
let client;
before(async () => {
  prepared = await startEmulator({ clock: { mode: "manual" } });
  const first = clientOf(prepared);
  const poc_details = { first_name: "Jo", email: "jo@acme.example" };
  const body = {
    contract_template_id: 101,
    contract_data: {},
    counter_party_details: [{ is_individual: true, poc_details }],
  };
  const { id } = await first.call("contracts.create", { body });
  await first.call("contracts.send", { params: { composite_id: id } });
  await first.close();
});
after(() => prepared.close());

// A copy in a few milliseconds, with ports and a clock of its own: tests may do with it what they like.
beforeEach(async () => {
  emulator = await prepared.fork();
  client = clientOf(emulator);
});
afterEach(async () => {
  await client.close();
  await emulator.close();
});

it("is executed once everybody has signed", async () => {
  await client.call("emulator-contracts.sign", { params: { id: "T-1" } });
  assert.equal(await statusOf("T-1"), "EXECUTED");
});

it("still waits for a signature, whatever the previous test did", async () => {
  assert.equal(await statusOf("T-1"), "SIGN");
});

const statusOf = async (composite_id) =>
  (await client.call("contracts.status", { params: { composite_id } })).contract_status;

function clientOf({ routerUrl, token, clusters: [{ url, clientId, clientSecret }] }) {
  return createClient({
    baseUrls: { contracts: url, emulator: routerUrl },
    credentials: { clientId, clientSecret, controlToken: token },
  });
}
