import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createExecutedImport,
  createFieldErrors,
  createPdfBase64,
  getContractStatus,
  initialTime,
  jo,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const path = "/api/v2.1/public/contracts/executed_contracts/";

const createImportRequest = (overrides: object = {}) =>
  createExecutedImport({ external_metadata: { id: "doc-7", integration_name: "archive" }, ...overrides });

describe("import of an executed contract", () => {
  it("returns the whole record with a historical ID and emits only CONTRACT_CREATED", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_CREATED",
      "CONTRACT_EXECUTED",
      "CONTRACT_SIGNED",
      "CONTRACT_EXTERNAL_METADATA_CREATED",
    ]);
    assert.deepEqual(pickStatusAndBody(await emulator.api("POST", path, { body: await createImportRequest() })), {
      status: 201,
      body: {
        id: "H-1",
        created: initialTime,
        contract_name: "NDA of 2029",
        contract_link: `${emulator.clusters[0]!.url}/contracts/H-1`,
        contract_status: "EXECUTED",
        created_by: "Ada Keller",
        created_by_user_name: "Ada Keller",
        created_by_user_email: "ada@northwind.example",
        counter_party_name: "Acme Inc.",
        contract_type_name: "NDA",
        contract_type_id: 301,
        created_by_workspace: 1,
        external_metadata: { id: "doc-7", integration_name: "archive" },
        reference_id: "SVC-1",
      },
    });
    const events = await readPayloads();
    assert.deepEqual(listActivityNames(events), ["CONTRACT_CREATED", "CONTRACT_EXTERNAL_METADATA_CREATED"]);
    assert.equal(events[0]?.contract_id, 1);
    assert.equal(events[0]?.contract_kind, "EXECUTED_CONTRACT");
  });

  it("accepts alternative field names and string IDs", async (t) => {
    const { api } = await startTestEmulator(t);
    const counterparty_details = [{ is_individual: true, poc_details: jo }];
    const body = {
      contract_name: "NDA of 2029",
      contract_type_id: "301",
      file_name: "NDA.PDF",
      file_content: await createPdfBase64(),
      organization_entity_id: "402",
      counterparty_details,
    };
    const response = await api("POST", path, { body });
    assert.equal(response.status, 201);
    assert.equal((response.body as { counter_party_name: string }).counter_party_name, "Jo Doe");
  });

  it("prefers the specification's field name if both are sent", async (t) => {
    const { api } = await startTestEmulator(t);
    const body = await createImportRequest({ file_content: "nonsense", organization_entity_id: 999 });
    assert.equal((await api("POST", path, { body })).status, 201);
  });

  it("returns the uploaded bytes", async (t) => {
    const { api } = await startTestEmulator(t);
    const body = await createImportRequest();
    await api("POST", path, { body });
    assert.equal(await getContractStatus(api, { id: "H-1", number: 1 }), "EXECUTED");
    const link = await api("POST", "/api/v2.1/public/contracts/H-1/download_link", { body: {} });
    const { url, ...rest } = link.body as { url: string; file_name: string };
    assert.deepEqual(rest, { file_name: "nda.pdf", current_version_id: 1 });
    const download = await fetch(url);
    assert.equal(download.status, 200);
    assert.equal(Buffer.from(await download.arrayBuffer()).toString("base64"), body.file_base64);
  });

  const rejectedDocuments: readonly (readonly [string, object, object])[] = [
    ["no file", { file_base64: undefined }, { file_base64: ["Field required"] }],
    ["invalid base64", { file_base64: "%PDF-1.7" }, { file_base64: ["Input should be valid base64"] }],
    [
      "a file that is not a PDF",
      { file_base64: Buffer.alloc(200, "<html></html>").toString("base64") },
      { file_base64: ["Input should be a valid PDF: it cannot be parsed (Invalid PDF structure)"] },
    ],
    [
      "a file that is not a PDF in the alternative field",
      { file_base64: undefined, file_content: "JVBERi0xLjQK" },
      { file_base64: ["Input should be a valid PDF: it cannot be parsed (Invalid PDF structure)"] },
    ],
    [
      "no entity",
      { creator_organization_entity_id: undefined },
      { creator_organization_entity_id: ["Field required"] },
    ],
    [
      "rows of another workspace and a file name without .pdf in one response",
      { contract_type_id: 304, creator_organization_entity_id: 403, file_name: "nda.docx" },
      {
        contract_type_id: ['Invalid pk "304" - object does not exist.'],
        creator_organization_entity_id: ['Invalid pk "403" - object does not exist.'],
        file_name: ["Value should be a file name that ends in .pdf"],
      },
    ],
    [
      "malformed IDs",
      { contract_type_id: "NDA", creator_organization_entity_id: 1.5 },
      {
        contract_type_id: ["Input should be a valid integer, unable to parse string as an integer"],
        creator_organization_entity_id: ["Input should be a valid integer, got a number with a fractional part"],
      },
    ],
    [
      "null instead of IDs",
      { contract_type_id: null, creator_organization_entity_id: null },
      {
        contract_type_id: ["Input should be a valid integer"],
        creator_organization_entity_id: ["Input should be a valid integer"],
      },
    ],
    [
      "an empty name of the counterparty",
      { counterparty_organization_name: "" },
      { counterparty_organization_name: ["String should have at least 1 character"] },
    ],
    [
      "missing fields",
      { contract_name: undefined, contract_type_id: undefined, file_name: undefined },
      { contract_name: ["Field required"], contract_type_id: ["Field required"], file_name: ["Field required"] },
    ],
    [
      "a missing file and entity together with other missing fields",
      { contract_name: undefined, file_base64: undefined, creator_organization_entity_id: undefined },
      {
        contract_name: ["Field required"],
        file_base64: ["Field required"],
        creator_organization_entity_id: ["Field required"],
      },
    ],
  ];
  for (const [label, overrides, problems] of rejectedDocuments) {
    it(`rejects ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const body = await createImportRequest(overrides);
      await assertRejected(emulator, () => emulator.api("POST", path, { body }), createFieldErrors(problems));
    });
  }

  it("rejects object configurations, because the workspace has none", async (t) => {
    const emulator = await startTestEmulator(t);
    const object_configuration_id = "0b8f9f0e-3b1b-4b6e-9c5d-2f4b8f9d1c11";
    const body = await createImportRequest({ external_metadata: { record_type: "deal", object_configuration_id } });
    const message = "Object configuration not found.";
    await assertRejected(emulator, () => emulator.api("POST", path, { body }), {
      status: 404,
      body: { detail: message, status_code: 404, code: "SVC_INTEGRATIONS_00021", message },
    });
  });
});
