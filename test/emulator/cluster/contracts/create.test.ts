import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namedSeeds } from "../../../../emulator/compose/state/seed.ts";
import {
  acme,
  createContractRequest,
  createDomainError,
  createDraftContract,
  createFieldErrors,
  getContractStatus,
  initialTime,
  jo,
} from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const createUnknownPkMessage = (id: unknown) => `Invalid pk "${id}" - object does not exist.`;

describe("creating a contract from a template", () => {
  it("returns the whole record in status DRAFT", async (t) => {
    const { api, clusters } = await startTestEmulator(t);
    const metadata = { id: "deal-42", integration_name: "crm", record_type: "deal" };
    assert.deepEqual(
      pickStatusAndBody(
        await api("POST", "/api/v2.1/public/contracts/", {
          body: createContractRequest({ external_metadata: metadata }),
        }),
      ),
      {
        status: 201,
        body: {
          id: "T-1",
          contract_id: 1,
          created: initialTime,
          contract_name: "NDA with Acme",
          contract_link: `${clusters[0]!.url}/contracts/T-1`,
          contract_status: "DRAFT",
          created_by: "ada@northwind.example",
          counter_party_name: "Acme Inc.",
          contract_type_name: "NDA",
          contract_type_id: 301,
          created_by_workspace: 1,
          external_metadata: metadata,
          reference_id: "SVC-1",
        },
      },
    );
  });

  it("derives the name from the template and the counterparties", async (t) => {
    const { api } = await startTestEmulator(t);
    const contract = await createDraftContract(api, { contract_name: undefined });
    const { body } = await api("GET", `/api/v2.1/public/contracts/${contract.id}/status`);
    assert.deepEqual(body, { contract_status: "DRAFT", contract_name: "Mutual NDA - Acme Inc." });
  });

  it("emits CONTRACT_CREATED with all contract data, then CONTRACT_EXTERNAL_METADATA_CREATED", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_CREATED", "CONTRACT_EXTERNAL_METADATA_CREATED"]);
    await createDraftContract(emulator.api, { external_metadata: { id: "deal-42" } });
    const [created, metadata, ...rest] = await readPayloads();
    assert.deepEqual(rest, []);
    const ada = { name: "Ada Keller", email: "ada@northwind.example" };
    assert.deepEqual(created, {
      activity: "CONTRACT_CREATED",
      activity_data: { performed_by: ada, timestamp: "2031-01-02T03:04:05.000000Z" },
      contract_id: 1,
      contract_title: "NDA with Acme",
      contract_type: "NDA",
      contract_type_name: "NDA",
      contract_type_id: 301,
      contract_status: "DRAFT",
      contract_kind: "TEMPLATE_CONTRACT",
      business_user: ada,
      legal_user: ada,
      created_at: "2031-01-02T03:04:05.000000Z",
      counterparties: [
        {
          type: "Organization",
          organization_name: "Acme Inc.",
          poc_name: "Jo Doe",
          poc_email: "jo@acme.example",
          counterparty_id: 1,
        },
      ],
      external_metadata: { id: "deal-42" },
      entity: {
        reference_id: "NW-DE",
        name: "Northwind GmbH",
        jurisdiction: "Germany",
        type: "Private Limited Company",
      },
      contract_reference_id: "SVC-1",
      contract_template_id: 101,
    });
    assert.deepEqual(metadata, { ...created, activity: "CONTRACT_EXTERNAL_METADATA_CREATED" });
  });

  it("sends the contract immediately if the workflow configuration requests it", async (t) => {
    const { api } = await startTestEmulator(t);
    const contract = await createDraftContract(api, { workflow_config: { auto_send_to_counterparty: true } });
    assert.equal(await getContractStatus(api, contract), "SIGN");
  });

  it("accepts an individual by name and an own entity by reference ID", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_CREATED"]);
    await createDraftContract(emulator.api, {
      counter_party_details: [{ is_individual: true, poc_details: jo }],
      entity_reference_id: "NW-US",
    });
    const [created] = await readPayloads();
    assert.deepEqual(created?.counterparties, [
      { type: "Individual", poc_name: "Jo Doe", poc_email: "jo@acme.example", counterparty_id: 1 },
    ]);
    assert.deepEqual(created?.entity, {
      reference_id: "NW-US",
      name: "Northwind Inc.",
      jurisdiction: "United States",
      type: "Corporation",
    });
  });

  const creator = { name: "Ada Keller", email: "ada@northwind.example", is_counterparty_signatory: false };
  const theirs = {
    name: "Jo Doe",
    email: "jo@acme.example",
    is_counterparty_signatory: true,
    counterparty_name: "Acme Inc.",
  };
  const service = { contract_template_id: 102, contract_data: { start_date: "2031-02-01", seats: 3 } };

  const rejectedRequests: readonly (readonly [string, object, { status: number; body: unknown }])[] = [
    [
      "an unknown template",
      { contract_template_id: 999 },
      createFieldErrors({ contract_template_id: [createUnknownPkMessage(999)] }),
    ],
    [
      "another workspace's template",
      { contract_template_id: 103 },
      createFieldErrors({ contract_template_id: [createUnknownPkMessage(103)] }),
    ],
    [
      "a template that cannot be signed",
      { contract_template_id: 105 },
      createFieldErrors({ contract_template_id: ["This template cannot be sent for signature"] }),
    ],
    ["no contract_data", { contract_data: undefined }, createFieldErrors({ contract_data: ["Field required"] })],
    [
      "missing and invalid attributes in one response",
      { contract_template_id: 102, contract_data: { seats: "3", plan: "gold" }, signatories: [creator, theirs] },
      createFieldErrors({
        contract_data: {
          start_date: ["Field required"],
          seats: ["Input should be a valid integer"],
          plan: ["Value should be one of basic, plus"],
        },
      }),
    ],
    [
      "an unnamed organization and unknown labels",
      {
        counter_party_details: [
          acme,
          {
            is_individual: false,
            poc_details: jo,
            organization_type: "Club",
            organization_details: { jurisdiction_iso_code: "FR" },
          },
        ],
      },
      createFieldErrors({
        counter_party_details: {
          "1": {
            organization_name: ["Field required"],
            organization_type: ["Value should be one of Private Limited Company, Corporation, Partnership"],
            organization_details: { jurisdiction_iso_code: ["Value should be one of DE, US, IN"] },
          },
        },
      }),
    ],
    [
      "a signatory of an unnamed party",
      { signatories: [{ ...theirs, counterparty_name: "Umbrella" }] },
      createFieldErrors({ signatories: { "0": { counterparty_name: ["Value should be one of Acme Inc."] } } }),
    ],
    [
      "a signatory of the counterparty without its name",
      { signatories: [{ ...theirs, counterparty_name: undefined }] },
      createFieldErrors({ signatories: { "0": { counterparty_name: ["Field required"] } } }),
    ],
    [
      "a signing order for only some signatories",
      { ...service, signatories: [{ ...creator, sign_order: 1 }, theirs] },
      createFieldErrors({ signatories: ["sign_order should be set on all signatories or on none"] }),
    ],
    [
      "a signing order without a counterparty signatory",
      { ...service, signatories: [{ ...creator, sign_order: 1 }] },
      createFieldErrors({ signatories: ["With sign_order at least one counterparty signatory is required"] }),
    ],
    [
      "another workspace's entity",
      { entity_reference_id: "CT-FR" },
      createFieldErrors({ entity_reference_id: [createUnknownPkMessage("CT-FR")] }),
    ],
    [
      "a creator-side signatory that the template does not allow",
      { signatories: [creator] },
      createDomainError("SVC_ASSUMED_110", "The template does not have a signatory of the creator's side."),
    ],
    [
      "a missing required signatory",
      { ...service, signatories: [theirs] },
      createDomainError("SVC_ASSUMED_111", "The template needs a signatory of the creator's side."),
    ],
    [
      "an object configuration",
      { external_metadata: { record_type: "deal", object_configuration_id: "0b8f9f0e-3b1b-4b6e-9c5d-2f4b8f9d1c11" } },
      {
        status: 404,
        body: {
          detail: "Object configuration not found.",
          status_code: 404,
          code: "SVC_INTEGRATIONS_00021",
          message: "Object configuration not found.",
        },
      },
    ],
    [
      "immediate sending without signatories",
      { counter_party_details: [], workflow_config: { auto_send_to_counterparty: true } },
      createDomainError("SVC_ASSUMED_102", "No signatories are configured for this contract."),
    ],
  ];
  for (const [label, overrides, expected] of rejectedRequests) {
    it(`rejects ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await assertRejected(
        emulator,
        () => emulator.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest(overrides) }),
        expected,
      );
    });
  }
});

describe("template of a custom seed", () => {
  const base = { workspace_id: 1, contract_type_id: 301 };
  const templates = [
    { ...base, id: 111, name: "Old NDA", archived: true },
    { ...base, id: 112, name: "Loan to a person", counter_party_kind: "Individual" },
    {
      ...base,
      id: 113,
      name: "Lease",
      attributes: [
        { variable: "months", display_label: "Months", type: "int", required: true, default_value: 12 },
        { variable: "pets", display_label: "Pets", type: "boolean", required: false, default_value: false },
      ],
    },
    {
      ...base,
      id: 114,
      name: "Signed by us",
      creator_slot: { required: true, signatory: { name: "Ada Keller", email: "ada@northwind.example" } },
    },
  ];
  const seed = { ...namedSeeds.demo, templates };
  const rejectedTemplates: readonly (readonly [string, object, object])[] = [
    ["that is archived", { contract_template_id: 111 }, { contract_template_id: [createUnknownPkMessage(111)] }],
    [
      "for individuals, with an organization",
      { contract_template_id: 112 },
      { counter_party_details: { "0": { is_individual: ["The template takes counterparties of kind Individual"] } } },
    ],
  ];
  for (const [label, overrides, problems] of rejectedTemplates) {
    it(`rejects a template ${label}`, async (t) => {
      const emulator = await startTestEmulator(t, { seed });
      const create = () =>
        emulator.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest(overrides) });
      await assertRejected(emulator, create, createFieldErrors(problems));
    });
  }

  const sam = { name: "Sam Doe", email: "sam@acme.example", counterparty_name: "Acme Inc." };
  const signing: readonly (readonly [string, object, [string, number][]])[] = [
    [
      "the counterparty's contact",
      {},
      [
        ["jo@acme.example", 1],
        ["ada@northwind.example", 2],
      ],
    ],
    [
      "the request's signatories",
      { signatories: [{ ...sam, is_counterparty_signatory: true }] },
      [
        ["sam@acme.example", 1],
        ["ada@northwind.example", 2],
      ],
    ],
    [
      "the request's signatories with an order",
      { signatories: [{ ...sam, is_counterparty_signatory: true, sign_order: 4 }] },
      [
        ["sam@acme.example", 4],
        ["ada@northwind.example", 5],
      ],
    ],
  ];
  for (const [whom, overrides, expected] of signing) {
    it(`lets the template's own signatory sign after ${whom}`, async (t) => {
      const emulator = await startTestEmulator(t, { seed });
      const { id } = await createDraftContract(emulator.api, { contract_template_id: 114, ...overrides });
      const { body } = await emulator.api("GET", `/api/v2.1/public/contracts/${id}/recipients/`);
      const { items } = body as { items: { recipient: { user: { email: string }; recipient_order: number } }[] };
      assert.deepEqual(
        items.map(({ recipient }) => [recipient.user.email, recipient.recipient_order]),
        expected,
      );
    });
  }

  it("applies the defaults of omitted fields", async (t) => {
    const emulator = await startTestEmulator(t, { seed });
    const { number } = await createDraftContract(emulator.api, {
      contract_template_id: 113,
      contract_data: { pets: true },
    });
    const { body } = await emulator.api(
      "GET",
      `/api/v2.1/public/contracts/${number}/questionnaire/responses/?questionnaire_type=TEMPLATE`,
    );
    assert.deepEqual((body as { questionnaire_response_data: object }).questionnaire_response_data, {
      months: 12,
      pets: true,
    });
  });
});
