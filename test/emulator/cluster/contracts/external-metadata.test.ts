import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract, initialTime } from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

describe("external metadata", () => {
  it("creates metadata at the first write, and later replaces record_data as a whole", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_EXTERNAL_METADATA_CREATED",
      "CONTRACT_EXTERNAL_METADATA_UPDATED",
    ]);
    const path = `/api/v2.1/public/contracts/${id}/external_metadata`;
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", path)), {
      status: 200,
      body: { external_metadata: {} },
    });

    const first = { id: "deal-42", integration_name: "crm", record_data: { stage: "open", owner: "jo" } };
    assert.deepEqual(pickStatusAndBody(await emulator.api("POST", path, { body: { external_metadata: first } })), {
      status: 200,
      body: { external_metadata: first },
    });
    const second = { record_type: "deal", record_data: { stage: "won" } };
    const both = { id: "deal-42", integration_name: "crm", record_type: "deal", record_data: { stage: "won" } };
    assert.deepEqual(pickStatusAndBody(await emulator.api("POST", path, { body: { external_metadata: second } })), {
      status: 200,
      body: { external_metadata: both },
    });
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", path)), {
      status: 200,
      body: { external_metadata: both },
    });
    const events = await readPayloads();
    assert.deepEqual(listActivityNames(events), [
      "CONTRACT_EXTERNAL_METADATA_CREATED",
      "CONTRACT_EXTERNAL_METADATA_UPDATED",
    ]);
    assert.deepEqual(events[1]?.external_metadata, both);
  });

  for (const record of ["deal/9", "/a//b", "https://crm.example/deals/9/", "/", "50% of 1/2 ?#é"]) {
    it(`finds the record ${record}, whose ID contains slashes`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id } = await createDraftContract(emulator.api, { external_metadata: { id: record } });
      const path = (text: string) => `/api/v2.1/public/contracts/by_external_metadata/${text}`;
      const found = (await emulator.api("GET", path(encodeURIComponent(record)))).body as { id: string }[];
      assert.deepEqual(
        found.map((contract) => contract.id),
        [id],
      );
      assert.deepEqual(pickStatusAndBody(await emulator.api("POST", path(encodeURIComponent(record)))), {
        status: 405,
        body: { detail: 'Method "POST" not allowed.' },
      });
      const otherSpelling = await emulator.api("GET", path(`${encodeURIComponent(record)}/`));
      assert.equal(otherSpelling.status, 302);
    });
  }

  it("lists at most 50 contracts of the workspace, newest first", async (t) => {
    const emulator = await startTestEmulator(t);
    const find = async (api = emulator.api) =>
      (await api("GET", "/api/v2.1/public/contracts/by_external_metadata/deal%2042:7")).body;
    assert.deepEqual(await find(), []);
    for (let n = 0; n < 51; n += 1) await createDraftContract(emulator.api, { external_metadata: { id: "deal 42:7" } });
    await createDraftContract(emulator.api, { external_metadata: { id: "deal 42" } });
    const contracts = (await find()) as { id: string }[];
    assert.deepEqual(
      contracts.map(({ id }) => id),
      Array.from({ length: 50 }, (_, n) => `T-${51 - n}`),
    );
    assert.deepEqual(contracts[0], {
      id: "T-51",
      contract_id: 51,
      created: initialTime,
      contract_name: "NDA with Acme",
      contract_link: `${emulator.clusters[0]!.url}/contracts/T-51`,
      contract_status: "DRAFT",
      created_by: "ada@northwind.example",
      counter_party_name: "Acme Inc.",
      contract_type_name: "NDA",
      contract_type_id: 301,
      created_by_workspace: 1,
      external_metadata: { id: "deal 42:7" },
      reference_id: "SVC-51",
    });
    assert.deepEqual(await find(await createWorkspaceApi(emulator, 2)), []);
  });

  it("rejects unknown contracts and malformed metadata", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const otherApi = await createWorkspaceApi(emulator, 2);
    const body = { external_metadata: { id: "1" } };
    await assertRejected(
      emulator,
      () => emulator.api("POST", "/api/v2.1/public/contracts/T-2/external_metadata", { body }),
      notFoundResponse,
    );
    await assertRejected(
      emulator,
      () => otherApi("POST", "/api/v2.1/public/contracts/T-1/external_metadata", { body }),
      notFoundResponse,
    );
    await assertRejected(
      emulator,
      () => otherApi("GET", "/api/v2.1/public/contracts/T-1/external_metadata"),
      notFoundResponse,
    );
    const putMetadata = (external_metadata: unknown) => () =>
      emulator.api("POST", "/api/v2.1/public/contracts/T-1/external_metadata", { body: { external_metadata } });
    await assertRejected(emulator, putMetadata(undefined), {
      status: 400,
      body: { external_metadata: ["Field required"] },
    });
    await assertRejected(emulator, putMetadata({ id: 7 }), {
      status: 400,
      body: { external_metadata: { id: ["Input should be a valid string"] } },
    });
    const message = "Object configuration not found.";
    const object_configuration_id = "0b8f9f0e-3b1b-4b6e-9c5d-2f4b8f9d1c11";
    await assertRejected(emulator, putMetadata({ id: "1", object_configuration_id }), {
      status: 400,
      body: { external_metadata: { record_type: ["Field required"] } },
    });
    // The second has the form of a UUID, but no version and variant of RFC 9562.
    for (const id of [object_configuration_id, "11111111-2222-3333-4444-555555555555"]) {
      await assertRejected(emulator, putMetadata({ id: "1", record_type: "deal", object_configuration_id: id }), {
        status: 404,
        body: { detail: message, status_code: 404, code: "SVC_INTEGRATIONS_00021", message },
      });
    }
    await assertRejected(emulator, putMetadata({ record_type: "deal", object_configuration_id: "1" }), {
      status: 400,
      body: { external_metadata: { object_configuration_id: ["Input should be a valid UUID"] } },
    });
  });
});
