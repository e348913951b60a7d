import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  bilateralSigning,
  createDraftContract,
  createUploadRequest,
  requireContract,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const base = "/api/v2.1/public";
const party = `${base}/counter_parties/1`;
const office = { line_one: "2 High Street", city_name: "Leeds", country_name: "United Kingdom" };

/** A contract of each kind whose data can be changed, with a counterparty and a key pointer. */
async function createContracts({ api }: TestEmulator): Promise<void> {
  await createDraftContract(api, bilateralSigning);
  const body = await createUploadRequest({ intake_form_data: { purpose: "Joint project" } });
  await requireContract(api("POST", `${base}/contracts/upload_review_contracts/`, { body }));
  await api("POST", `${party}/addresses/`, { body: office });
  const pointer = { key_pointer_field_name: "purpose", value: "Sales" };
  await api("POST", `${base}/contracts/T-2/key_pointers/bulk`, { body: { key_pointers: [pointer] } });
}

describe("request without changes", () => {
  const requests: [method: string, path: string, body: object][] = [
    ["PATCH", `${base}/contracts/T-1/contract_data`, { data: {} }],
    ["PATCH", `${base}/contracts/T-1/contract_data`, { data: { seats: 3 } }],
    ["PATCH", `${base}/contracts/T-2/intake_form/response`, {}],
    ["PATCH", `${base}/contracts/T-2/intake_form/response`, { purpose: "Joint project" }],
    ["POST", `${base}/contracts/T-1/external_metadata`, { external_metadata: {} }],
    ["PATCH", party, {}],
    ["PATCH", party, { name: "Acme Inc.", custom_fields: {} }],
    ["PATCH", `${party}/contacts/1/`, { email: "jo@acme.example" }],
    ["PATCH", `${party}/contacts/bulk/`, { contacts: [{ id: 1, is_primary: true }] }],
    ["PATCH", `${party}/addresses/1/`, office],
    [
      "POST",
      `${base}/contracts/T-2/key_pointers/bulk`,
      { key_pointers: [{ key_pointer_field_name: "purpose", value: "Sales" }] },
    ],
    ["PATCH", `${base}/contracts/T-2/key_pointers/1`, { value: "Sales" }],
  ];
  for (const [method, path, body] of requests) {
    it(`does not write or emit for ${method} ${path} ${JSON.stringify(body)}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await createContracts(emulator);
      const { status, body: responseBody } = await emulator.api(method, path, { body });
      assert.equal(status, 200, JSON.stringify(responseBody));
      await assertRejected(emulator, () => emulator.api(method, path, { body }), { status, body: responseBody });
    });
  }

  it("emits the first metadata as created, even if the contract had none", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_EXTERNAL_METADATA_CREATED",
      "CONTRACT_EXTERNAL_METADATA_UPDATED",
    ]);
    const { id } = await createDraftContract(emulator.api, { external_metadata: {} });
    const write = (external_metadata: object) =>
      emulator.api("POST", `${base}/contracts/${id}/external_metadata`, { body: { external_metadata } });
    await write({});
    assert.deepEqual(listActivityNames(await readPayloads()), []);
    await write({ id: "deal-42" });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_EXTERNAL_METADATA_CREATED"]);
  });
});
