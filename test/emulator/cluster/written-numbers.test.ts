import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { request } from "undici";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const numbers =
  '{"big":12345678901234567890,"price":1.10,"power":1e5,"zero":-0,"list":[2.0,{"deep":7e12345}],"plain":5}';

/** Sends a text body to the contract API and returns the response text. */
async function requestText(
  emulator: TestEmulator,
  method: "GET" | "POST" | "PATCH",
  path: string,
  body?: string,
): Promise<string> {
  const { url, clientId = "", clientSecret = "" } = emulator.clusters[0]!;
  const headers = { "client-id": clientId, "client-secret": clientSecret, "content-type": "application/json" };
  const response = await request(`${url}/api/v2.1/public${path}`, { method, headers, ...(body && { body }) });
  const responseText = await response.body.text();
  assert.ok(response.statusCode < 300, `${response.statusCode} ${responseText}`);
  return responseText;
}

const party =
  '"counter_party_details":[{"is_individual":true,"poc_details":{"first_name":"Jo","email":"jo@acme.example"}}]';
const metadata = `{"id":"deal-42","record_data":${numbers}}`;
const contract = `{"contract_template_id":101,"contract_data":${numbers},${party},"external_metadata":${metadata}}`;

describe("free-form value with numbers", () => {
  it("preserves their notation in responses, webhooks and after a restart", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const emulator = await startTestEmulator(t, { file });
    const inbox = await startReceiver(t);
    const only_for_activities = ["CONTRACT_CREATED", "CONTRACT_EXTERNAL_METADATA_UPDATED"];
    await emulator.api("POST", "/api/v2.1/public/webhooks/", {
      body: { title: "t", url: inbox.url, only_for_activities },
    });
    await requestText(emulator, "POST", "/contracts/", contract);
    const externalMetadata = `{"external_metadata":{"record_data":{"sum":99999999999999999999.50}}}`;
    const changed = await requestText(emulator, "POST", "/contracts/T-1/external_metadata", externalMetadata);
    assert.ok(changed.includes('"record_data":{"sum":99999999999999999999.50}'), changed);
    await emulator.control("POST", "clock/advance", { body: { until_idle: true } });
    const [created, updated] = inbox.received.map(({ body }) => body.toString());
    assert.ok(created!.includes(`"record_data":${numbers}`), created);
    assert.ok(updated!.includes('"record_data":{"sum":99999999999999999999.50}'), updated);
    await emulator.close();

    const restartedEmulator = await startTestEmulator(t, { file });
    const metadata = await requestText(restartedEmulator, "GET", "/contracts/T-1/external_metadata");
    assert.ok(metadata.includes('"record_data":{"sum":99999999999999999999.50}'), metadata);
  });

  it("preserves numbers in contract data and validates them as numbers", async (t) => {
    const emulator = await startTestEmulator(t);
    await requestText(emulator, "POST", "/contracts/", contract);
    const data = await requestText(emulator, "PATCH", "/contracts/T-1/contract_data", `{"data":${numbers}}`);
    assert.ok(data.includes(`"price":1.10,"power":1e5`), data);
  });

  it("preserves their notation in the request log", async (t) => {
    const emulator = await startTestEmulator(t);
    await requestText(emulator, "POST", "/contracts/", contract);
    const response = await request(`${emulator.controlUrl}/requests?bodies=true`, {
      headers: { authorization: `Bearer ${emulator.token}` },
    });
    const log = await response.body.text();
    assert.ok(log.includes(`"record_data":${numbers}`), log);
  });

  it("does not treat a forged value as a stored number", async (t) => {
    const emulator = await startTestEmulator(t);
    const forgedNumber = '{"id":"deal-42","record_data":{"x":{"\\u0000number":"1,\\"y\\":2"}}}';
    const body = contract.replace(metadata, forgedNumber);
    await requestText(emulator, "POST", "/contracts/", body);
    const metadataText = await requestText(emulator, "GET", "/contracts/T-1/external_metadata");
    assert.deepEqual(JSON.parse(metadataText).external_metadata, JSON.parse(forgedNumber));
  });
});
