import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const base = "/api/v2.1/public/contracts";

interface CreatedContract {
  readonly id: string;
  readonly contract_id: number;
}

async function createContract(api: TestEmulator["api"], template = 101): Promise<CreatedContract> {
  const poc_details = { first_name: "Jo", last_name: "Diaz", email: "jo@acme.example" };
  const response = await api("POST", `${base}/`, {
    body: {
      contract_template_id: template,
      contract_data: {},
      counter_party_details: [{ is_individual: false, organization_name: "Acme Corp", poc_details }],
    },
  });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return response.body as CreatedContract;
}

const performed_by = { name: "Ada Keller", email: "ada@northwind.example" };
const timestamp = "2031-01-02T03:04:05.000000Z";

describe("comments API", () => {
  const comments = ({ contract_id }: CreatedContract) => `${base}/${contract_id}/comments/`;

  it("adds comments, lists them newest first and emits each one", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_ACTIVITY_LOG_COMMENT_CREATED"]);
    const first = { id: 1, contract_id: contract.contract_id, comment: "Hello !!@12!!", replies: [] };
    const response = await emulator.api("POST", comments(contract), { body: { comment: "Hello !!@12!!" } });
    assert.deepEqual(pickStatusAndBody(response), { status: 201, body: first });
    await emulator.api("POST", comments(contract), { body: { comment: "Second" } });

    const second = { id: 2, contract_id: contract.contract_id, comment: "Second", replies: [] };
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", comments(contract))), {
      status: 200,
      body: { page: 1, limit: 10, total_results: 2, results: [second, first] },
    });
    assert.deepEqual((await emulator.api("GET", `${comments(contract)}?page=2&limit=1`)).body, {
      page: 2,
      limit: 1,
      total_results: 2,
      results: [first],
    });

    const [event, ...rest] = await readPayloads();
    assert.equal(rest.length, 1);
    assert.equal(event?.contract_id, contract.contract_id);
    assert.equal(event?.contract_status, "DRAFT");
    assert.deepEqual(event?.activity_data, { performed_by, timestamp, comment: { id: 1, comment: "Hello !!@12!!" } });
  });

  it("rejects an empty comment", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createContract(emulator.api);
    await assertRejected(emulator, () => emulator.api("POST", comments(contract), { body: { comment: "" } }), {
      status: 400,
      body: { comment: ["String should have at least 1 character"] },
    });
  });
});

describe("key-pointers API", () => {
  const pointers = (id: string) => `${base}/${id}/key_pointers`;
  const expiry = { id: 1, value: "2032-01-01", label: "Expiry date", field_name: "expiry_date", data_type: "date" };
  const purpose = { id: 2, value: "Sales", label: "Purpose", field_name: "purpose", data_type: "string" };
  const withFormatOption = (row: object) => ({ ...row, format_option: {} });

  it("creates and updates key pointers by field name or ID, emitting each change", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [
      "CONTRACT_KEY_POINTER_CREATION",
      "CONTRACT_KEY_POINTER_UPDATION",
    ]);
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", pointers(id))), { status: 200, body: [] });

    const response = await emulator.api("POST", `${pointers(id)}/bulk`, {
      body: {
        key_pointers: [
          { key_pointer_field_name: "expiry_date", value: "2032-01-01" },
          { key_pointer_field_name: "purpose", value: "Sales" },
        ],
      },
    });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 200,
      body: [withFormatOption(expiry), withFormatOption(purpose)],
    });

    const secondResponse = await emulator.api("POST", `${pointers(id)}/bulk`, {
      body: {
        key_pointers: [
          { key_pointer_id: 2, value: "Purchase" },
          { key_pointer_field_name: "expiry_date", value: null },
        ],
      },
    });
    const changed = [withFormatOption({ ...purpose, value: "Purchase" }), withFormatOption({ ...expiry, value: null })];
    assert.deepEqual(pickStatusAndBody(secondResponse), { status: 200, body: changed });

    const updated = await emulator.api("PATCH", `${pointers(id)}/1`, { body: { value: "2033-01-01" } });
    assert.deepEqual(pickStatusAndBody(updated), {
      status: 200,
      body: withFormatOption({ ...expiry, value: "2033-01-01" }),
    });
    assert.deepEqual((await emulator.api("GET", pointers(id))).body, [
      withFormatOption({ ...expiry, value: "2033-01-01" }),
      withFormatOption({ ...purpose, value: "Purchase" }),
    ]);

    const events = await readPayloads();
    assert.deepEqual(listActivityNames(events), [
      "CONTRACT_KEY_POINTER_CREATION",
      "CONTRACT_KEY_POINTER_CREATION",
      "CONTRACT_KEY_POINTER_UPDATION",
      "CONTRACT_KEY_POINTER_UPDATION",
      "CONTRACT_KEY_POINTER_UPDATION",
    ]);
    assert.deepEqual(events[0]!.activity_data, {
      performed_by,
      timestamp,
      key_pointer: { id: 1, field_name: "expiry_date", value: "2032-01-01" },
    });
  });

  it("validates every row and stores none if one is invalid", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    const key_pointers = [
      { key_pointer_field_name: "purpose", value: "fine" },
      { value: "whose?" },
      { key_pointer_id: 9, value: 1 },
      { key_pointer_field_name: "shoe_size", value: 1 },
      { key_pointer_field_name: "expiry_date", value: "2032-02-30" },
    ];
    await assertRejected(emulator, () => emulator.api("POST", `${pointers(id)}/bulk`, { body: { key_pointers } }), {
      status: 400,
      body: {
        key_pointers: {
          1: { key_pointer_id: ["Field required"] },
          2: { key_pointer_id: ['Invalid pk "9" - object does not exist.'] },
          3: { key_pointer_field_name: ['Invalid pk "shoe_size" - object does not exist.'] },
          4: { value: ["Input should be a valid date"] },
        },
      },
    });
  });

  it("rejects key pointers of another contract or type", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    const second = await createContract(emulator.api);
    const key_pointers = [{ key_pointer_field_name: "purpose", value: "x" }];
    await emulator.api("POST", `${pointers(id)}/bulk`, { body: { key_pointers } });

    await assertRejected(
      emulator,
      () => emulator.api("PATCH", `${pointers(second.id)}/1`, { body: { value: "y" } }),
      notFoundResponse,
    );
    await assertRejected(emulator, () => emulator.api("PATCH", `${pointers(id)}/1`, { body: { value: 5 } }), {
      status: 400,
      body: { value: ["Input should be a valid string"] },
    });
  });
});

describe("key-pointers.definitions", () => {
  it("lists the common definitions and those of the intake form", async (t) => {
    const emulator = await startTestEmulator(t);
    const path = "/api/v2.1/public/key_pointers/";
    const { status, body } = await emulator.api("GET", `${path}?contract_type_id=301`);
    const sections = body as { id: number; section: unknown; descriptors: { variable: string }[] }[];
    assert.equal(status, 200);
    assert.deepEqual(
      sections.map(({ id, section, descriptors }) => ({
        id,
        section,
        names: descriptors.map((each) => each.variable),
      })),
      [
        {
          id: 1,
          section: { id: 1, section_type: "SYSTEM_DEFINED", name: "Key terms" },
          names: ["effective_date", "expiry_date", "contract_value", "governing_law", "auto_renewal", "notice_period"],
        },
        { id: 2, section: { id: 2, section_type: "USER_DEFINED", name: "Intake form" }, names: ["purpose", "value"] },
      ],
    );
    await assertRejected(emulator, () => emulator.api("GET", path), {
      status: 400,
      body: { contract_type_id: ["Field required"] },
    });
    await assertRejected(emulator, () => emulator.api("GET", `${path}?contract_type_id=304`), {
      status: 400,
      body: { contract_type_id: ['Invalid pk "304" - object does not exist.'] },
    });
  });
});

describe("approvals API", () => {
  const approvals = (id: string) => `${base}/approvals/${id}/`;
  const ada = { id: 11, name: "Ada Keller", email: "ada@northwind.example" };
  const ben = { id: 12, name: "Ben Okafor", email: "ben@northwind.example" };
  const finance = { name: "Finance", notes: "Over 10k", approver_user_id: 12, order: 1 };
  const legal = { name: "Legal", notes: "", approver_role_id: 1, order: 2 };
  const risk = { name: "Risk", notes: "", approver_user_id: 11, order: 1 };

  it("requests approvals in order and records decisions of the approvers", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id, contract_id } = await createContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_APPROVAL_REQUESTED", "CONTRACT_APPROVAL_COMPLETED"]);
    const response = await emulator.api("POST", approvals(id), { body: { approvals: [finance, legal] } });
    assert.deepEqual(pickStatusAndBody(response), {
      status: 201,
      body: [
        { id: 1, contract_id, ...finance, is_sent: true },
        { id: 2, contract_id, ...legal, is_sent: false },
      ],
    });
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.equal((await emulator.control("POST", `contracts/${id}/approve`, { body: { note: "fine" } })).status, 200);

    const common = { contract_id, approval_type: "AD_HOC", created_by_org_user: ada };
    const approvedAt = "2031-01-02T04:04:05Z";
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", approvals(id))), {
      status: 200,
      body: {
        results: [
          {
            approval: {
              id: 1,
              ...common,
              approval_name: "Finance",
              org_user: ben,
              sent_for_approval: true,
              last_sent_at: "2031-01-02T03:04:05Z",
              notes: "Over 10k",
              status: "APPROVED",
            },
            approval_actions: [{ status: "APPROVED", notes: "fine", created: approvedAt, latest: true }],
          },
          {
            approval: {
              id: 2,
              ...common,
              approval_name: "Legal",
              sent_for_approval: true,
              last_sent_at: approvedAt,
              notes: "",
              status: "PENDING",
            },
            approval_actions: [],
          },
        ],
      },
    });
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "CONTRACT_APPROVAL_REQUESTED",
      "CONTRACT_APPROVAL_COMPLETED",
      "CONTRACT_APPROVAL_REQUESTED",
    ]);
  });

  it("emits each request of a group when its turn begins", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_APPROVAL_REQUESTED", "CONTRACT_APPROVAL_COMPLETED"]);
    await emulator.api("POST", approvals(id), { body: { approvals: [finance, risk, legal] } });
    for (let n = 0; n < 3; n += 1) await emulator.control("POST", `contracts/${id}/approve`, { body: {} });
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "CONTRACT_APPROVAL_REQUESTED",
      "CONTRACT_APPROVAL_REQUESTED",
      "CONTRACT_APPROVAL_COMPLETED",
      "CONTRACT_APPROVAL_COMPLETED",
      "CONTRACT_APPROVAL_REQUESTED",
      "CONTRACT_APPROVAL_COMPLETED",
    ]);
  });

  it("rejects an approval while an earlier group is pending", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    await emulator.api("POST", approvals(id), { body: { approvals: [finance] } });
    const message = "Another approval group is in progress.";
    await assertRejected(emulator, () => emulator.api("POST", approvals(id), { body: { approvals: [legal] } }), {
      status: 400,
      body: { detail: message, status_code: 400, code: "SVC_CONTRACTS_00152", message },
    });
    await emulator.control("POST", `contracts/${id}/approve`, { body: {} });
    assert.equal((await emulator.api("POST", approvals(id), { body: { approvals: [legal] } })).status, 201);
  });

  it("requires exactly one approver who belongs to the workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    const row = { name: "Finance", notes: "" };
    const body = {
      approvals: [
        row,
        { ...row, approver_user_id: 12, approver_role_id: 1 },
        { ...row, approver_user_id: 21 },
        { ...row, approver_user_id: 13 },
        { ...row, approver_role_id: 3 },
        finance,
      ],
    };
    await assertRejected(emulator, () => emulator.api("POST", approvals(id), { body }), {
      status: 400,
      body: {
        approvals: {
          0: { approver_user_id: ["Field required"] },
          1: { approver_role_id: ["Only one of approver_user_id and approver_role_id can be given"] },
          2: { approver_user_id: ['Invalid pk "21" - object does not exist.'] },
          3: { approver_user_id: ['Invalid pk "13" - object does not exist.'] },
          4: { approver_role_id: ['Invalid pk "3" - object does not exist.'] },
        },
      },
    });
    await assertRejected(emulator, () => emulator.api("POST", approvals(id), { body: { approvals: [] } }), {
      status: 400,
      body: { approvals: ["List should have at least 1 item after validation, not 0"] },
    });
  });

  it("rejects approvals once the contract is out for signature", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createContract(emulator.api);
    assert.equal((await emulator.api("POST", `${base}/${id}/send_to_counterparties`, { body: {} })).status, 200);
    const message = "A contract in status SIGN cannot be sent for approval.";
    await assertRejected(emulator, () => emulator.api("POST", approvals(id), { body: { approvals: [finance] } }), {
      status: 400,
      body: { detail: message, status_code: 400, code: "SVC_ASSUMED_101", message },
    });
  });
});

describe("contract of another workspace", () => {
  const key_pointers = [{ key_pointer_field_name: "purpose", value: "x" }];
  const approvals = [{ name: "Finance", notes: "", approver_user_id: 12 }];
  const byNumber: [operation: string, method: string, path: (id: number) => string, body?: object][] = [
    ["comments.list", "GET", (id) => `${base}/${id}/comments/`],
    ["comments.create", "POST", (id) => `${base}/${id}/comments/`, { comment: "x" }],
  ];
  const byComposite: [operation: string, method: string, path: (id: string) => string, body?: object][] = [
    ["key-pointers.list", "GET", (id) => `${base}/${id}/key_pointers`],
    ["key-pointers.set", "POST", (id) => `${base}/${id}/key_pointers/bulk`, { key_pointers }],
    ["key-pointers.update", "PATCH", (id) => `${base}/${id}/key_pointers/1`, { value: "y" }],
    ["approvals.list", "GET", (id) => `${base}/approvals/${id}/`],
    ["approvals.create", "POST", (id) => `${base}/approvals/${id}/`, { approvals }],
  ];

  for (const [operation, method, path, body] of byNumber) {
    it(`returns 404 from ${operation}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { contract_id } = await createContract(emulator.api);
      const otherApi = await createWorkspaceApi(emulator, 2);
      await assertRejected(emulator, () => otherApi(method, path(contract_id), { body }), notFoundResponse);
      await assertRejected(emulator, () => emulator.api(method, path(999), { body }), notFoundResponse);
    });
  }

  for (const [operation, method, path, body] of byComposite) {
    it(`returns 404 from ${operation}, even for a bare number or another ID prefix`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id } = await createContract(emulator.api);
      const set = { body: { key_pointers } };
      assert.equal((await emulator.api("POST", `${base}/${id}/key_pointers/bulk`, set)).status, 200);
      const otherApi = await createWorkspaceApi(emulator, 2);
      await assertRejected(emulator, () => otherApi(method, path(id), { body }), notFoundResponse);
      for (const unknownId of ["T-999", id.slice(2), id.replace("T", "H")]) {
        await assertRejected(emulator, () => emulator.api(method, path(unknownId), { body }), notFoundResponse);
      }
    });
  }
});

describe("counterparty activity", () => {
  it("includes the newest contract of the counterparty", async (t) => {
    const emulator = await startTestEmulator(t);
    await createContract(emulator.api);
    const newest = await createContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["COUNTER_PARTY_UPDATED"]);
    await emulator.api("PATCH", "/api/v2.1/public/counter_parties/1", { body: { brand_name: "ACME" } });
    const [event] = await readPayloads();
    assert.equal(event?.contract_id, newest.contract_id);
    assert.deepEqual(event?.activity_data, { performed_by, timestamp, counterparty_id: 1 });
  });
});
