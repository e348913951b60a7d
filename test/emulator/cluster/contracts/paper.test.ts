import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createDomainError,
  createFieldErrors,
  createUploadRequest,
  getContractStatus,
  initialTime,
  listRecipients,
  requireContract,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const review = "/api/v2.1/public/contracts/upload_review_contracts/";
const sign = "/api/v2.1/public/contracts/upload_sign_contracts/";

const ready = {
  creator_signatories: [{ email: "ada@northwind.example", title: "General Counsel" }],
  intake_form_data: { purpose: "Joint project" },
};

const record = (url: string, status: string) => ({
  id: "T-1",
  created: initialTime,
  contract_name: "Their paper",
  contract_link: `${url}/contracts/T-1`,
  contract_status: status,
  created_by: "Ada Keller",
  created_by_user_name: "Ada Keller",
  created_by_user_email: "ada@northwind.example",
  counter_party_name: "Acme Inc.",
  contract_type_name: "NDA",
  contract_type_id: 301,
  created_by_workspace: 1,
  external_metadata: {},
  reference_id: "SVC-1",
});

describe("third-party paper for review", () => {
  it("blocks signature until the review is complete", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_CREATED",
      "CONTRACT_REVIEW_REQUESTED",
      "CONTRACT_REVIEW_COMPLETED",
      "CONTRACT_MARK_FOR_EXECUTION",
      "CONTRACT_SIGNATURE_REQUESTED",
    ]);
    const response = await emulator.api("POST", review, { body: await createUploadRequest() });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 201,
      body: record(emulator.clusters[0]!.url, "REDLINING"),
    });
    const first = listActivityNames(await readPayloads());
    const mark = () => emulator.api("POST", "/api/v2.1/public/contracts/T-1/mark_for_execution/", { body: {} });
    await assertRejected(
      emulator,
      mark,
      createDomainError("SVC_ASSUMED_103", "The review of this contract is not complete."),
    );
    await assertRejected(
      emulator,
      () => emulator.api("POST", "/api/v2.1/public/contracts/T-1/send_to_counterparties", { body: {} }),
      createDomainError("SVC_ASSUMED_101", "A contract in status REDLINING cannot be sent to counterparties."),
    );

    await emulator.control("POST", "contracts/T-1/complete-review", { body: {} });
    assert.deepEqual(pickStatusAndBody(await mark()), { status: 200, body: "" });
    assert.equal(await getContractStatus(emulator.api, { id: "T-1", number: 1 }), "SIGN");
    assert.deepEqual(first, ["CONTRACT_CREATED", "CONTRACT_REVIEW_REQUESTED"]);
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "CONTRACT_REVIEW_COMPLETED",
      "CONTRACT_MARK_FOR_EXECUTION",
      "CONTRACT_SIGNATURE_REQUESTED",
    ]);
  });

  it("accepts a reviewer by address or role, and a counterparty by workspace", async (t) => {
    const { api, control } = await startTestEmulator(t);
    const upload = async (overrides: object) =>
      requireContract(api("POST", review, { body: await createUploadRequest(overrides) }));
    await upload({ contract_type_id: 302 });
    await upload({ reviewer: { org_user_email: "BEN@northwind.example", description: "Section 4" } });
    await upload({ reviewer: { role_id: 1 }, counterparty_organization_name: undefined, counterparty_workspace_id: 9 });
    const { body } = await control("GET", "state");
    const { contracts } = (body as { rows: { contracts: { reviews: object[]; counterparties: { name: string }[] }[] } })
      .rows;
    assert.deepEqual(
      contracts.map(({ reviews }) => reviews),
      [
        { reviewer_user_id: null, reviewer_role_id: 2, description: "" },
        { reviewer_user_id: 12, reviewer_role_id: null, description: "Section 4" },
        { reviewer_user_id: null, reviewer_role_id: 1, description: "" },
      ].map((reviewer) => [
        { id: 1, by: "internal", ...reviewer, requested_at: Date.parse(initialTime), completed_at: null },
      ]),
    );
    assert.equal(contracts[2]?.counterparties[0]?.name, "Workspace 9");
  });
});

describe("third-party paper for signature", () => {
  it("proceeds directly to signature by both sides", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_CREATED",
      "CONTRACT_EXTERNAL_METADATA_CREATED",
      "CONTRACT_SIGNATURE_REQUESTED",
      "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT",
      "SIGNING_EMAIL_DELIVERED",
    ]);
    const response = await emulator.api("POST", sign, { body: await createUploadRequest(ready) });
    assert.deepEqual(pickStatusAndBody(response), { status: 201, body: record(emulator.clusters[0]!.url, "SIGN") });
    assert.deepEqual(await listRecipients(emulator.api, { id: "T-1", number: 1 }), [
      "ada@northwind.example IN_PROGRESS",
      "jo@acme.example IN_PROGRESS",
    ]);
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "CONTRACT_CREATED",
      "CONTRACT_SIGNATURE_REQUESTED",
      "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT",
      "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT",
    ]);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1M" } });
    assert.deepEqual(listActivityNames(await readPayloads()), ["SIGNING_EMAIL_DELIVERED", "SIGNING_EMAIL_DELIVERED"]);
    await emulator.control("POST", "contracts/T-1/decline", { body: { email: "jo@acme.example" } });
    assert.equal(await getContractStatus(emulator.api, { id: "T-1", number: 1 }), "REDLINING");
  });
});

describe("third-party paper validation", () => {
  const both: readonly (readonly [string, object, { status: number; body: unknown }])[] = [
    [
      "that is not a PDF",
      { file_base64: "JVBERi0xLjQK" },
      createFieldErrors({ file_base64: ["Input should be a valid PDF: it cannot be parsed (Invalid PDF structure)"] }),
    ],
    [
      "with another workspace's contract type",
      { contract_type_id: 304 },
      createFieldErrors({ contract_type_id: ['Invalid pk "304" - object does not exist.'] }),
    ],
    [
      "with another workspace's entity and user",
      { creator_organization_entity_id: 403, business_user_email: "dina@contoso.example" },
      createFieldErrors({
        creator_organization_entity_id: ['Invalid pk "403" - object does not exist.'],
        business_user_email: ["Object with email=dina@contoso.example does not exist."],
      }),
    ],
    [
      "without a counterparty",
      { counterparty_organization_name: undefined },
      createFieldErrors({ counterparty_organization_name: ["Field required"] }),
    ],
    [
      "with a contact without a last name",
      { counterparty_poc_details: { first_name: "Jo", email: "jo@acme.example" } },
      createFieldErrors({ counterparty_poc_details: { last_name: ["Field required"] } }),
    ],
    [
      "with malformed answers",
      { intake_form_data: { purpose: "x", value: "much" } },
      createFieldErrors({ intake_form_data: { value: ["Input should be a valid number"] } }),
    ],
    [
      "with an object configuration",
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
  ];
  for (const [route, path] of [
    ["for review", review],
    ["for signature", sign],
  ] as const) {
    for (const [label, overrides, expected] of both) {
      it(`rejects paper ${route} ${label}`, async (t) => {
        const emulator = await startTestEmulator(t);
        const body = await createUploadRequest({ ...ready, ...overrides });
        await assertRejected(emulator, () => emulator.api("POST", path, { body }), expected);
      });
    }
  }

  it("rejects paper on a route that its contract type does not support", async (t) => {
    const emulator = await startTestEmulator(t);
    const words = "The contract type is not linked to a published third-party paper upload workflow.";
    const expected = createDomainError("SVC_CONTRACTS_00289", words);
    const forReview = await createUploadRequest({ contract_type_id: 303 });
    const forSignature = await createUploadRequest({ ...ready, contract_type_id: 302 });
    await assertRejected(emulator, () => emulator.api("POST", review, { body: forReview }), expected);
    await assertRejected(emulator, () => emulator.api("POST", sign, { body: forSignature }), expected);
  });

  it("rejects a reviewer from another workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const body = await createUploadRequest({ reviewer: { org_user_email: "dina@contoso.example", role_id: 3 } });
    await assertRejected(
      emulator,
      () => emulator.api("POST", review, { body }),
      createFieldErrors({
        reviewer: {
          org_user_email: ["Object with email=dina@contoso.example does not exist."],
          role_id: ['Invalid pk "3" - object does not exist.'],
        },
      }),
    );
  });

  it("rejects paper for signature without signatories or required answers", async (t) => {
    const emulator = await startTestEmulator(t);
    const neither = await createUploadRequest();
    await assertRejected(
      emulator,
      () => emulator.api("POST", sign, { body: neither }),
      createFieldErrors({ creator_signatories: ["Field required"], intake_form_data: { purpose: ["Field required"] } }),
    );
    const contact = await createUploadRequest({ ...ready, counterparty_poc_details: undefined });
    await assertRejected(
      emulator,
      () => emulator.api("POST", sign, { body: contact }),
      createFieldErrors({ counterparty_poc_details: ["Field required"] }),
    );
    const nobody = await createUploadRequest({ ...ready, creator_signatories: [] });
    await assertRejected(
      emulator,
      () => emulator.api("POST", sign, { body: nobody }),
      createFieldErrors({ creator_signatories: ["This list may not be empty."] }),
    );
  });
});
