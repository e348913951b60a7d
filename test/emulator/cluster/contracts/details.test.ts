import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  bilateralSigning,
  createDomainError,
  createDraftContract,
  createFieldErrors,
  createSentContract,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

/** The not-found message of two routes (DECISIONS.md, F5). */
const capitalNotFound = { status: 404, body: { detail: "Not Found" } };

describe("contract data", () => {
  it("updates single keys before signature and emits the change", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, bilateralSigning);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_DATA_UPDATED"]);
    const patch = (data: unknown) =>
      emulator.api("PATCH", `/api/v2.1/public/contracts/${contract.id}/contract_data`, { body: { data } });
    assert.deepEqual(pickStatusAndBody(await patch({ seats: 20, plan: "plus" })), {
      status: 200,
      body: { data: { start_date: "2031-02-01", seats: 20, plan: "plus" } },
    });
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_DATA_UPDATED"]);
    await assertRejected(
      emulator,
      () => patch({ seats: null, start_date: "2031-02-30", plan: "gold" }),
      createFieldErrors({
        data: {
          start_date: ["Input should be a valid date"],
          seats: ["Field required"],
          plan: ["Value should be one of basic, plus"],
        },
      }),
    );
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertRejected(
      emulator,
      () => patch({ seats: 21 }),
      createDomainError(
        "SVC_ASSUMED_113",
        "Contract data can be changed on template contracts in DRAFT or REDLINING only.",
      ),
    );
    for (let n = 0; n < 2; n += 1) await emulator.control("POST", `contracts/${contract.id}/sign`);
    await assertRejected(emulator, () => patch({ seats: 21 }), {
      status: 400,
      body: { detail: "Contract data of an executed contract cannot be updated.", code: "SVC_PUBLIC_00009" },
    });
  });
});

describe("contract note", () => {
  it("is empty at first and stored under its ID", async (t) => {
    const emulator = await startTestEmulator(t);
    const { id } = await createDraftContract(emulator.api);
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", `/api/v2.1/public/contracts/${id}/notes`)), {
      status: 200,
      body: { id: 1, text: "" },
    });
    const note = { id: 1, text: "Waits for finance", note_tag: "finance" };
    const body = { text: note.text, note_tag: { name: "finance" } };
    assert.deepEqual(
      pickStatusAndBody(await emulator.api("PUT", `/api/v2.1/public/contracts/${id}/notes/1`, { body })),
      { status: 200, body: note },
    );
    assert.deepEqual((await emulator.api("GET", `/api/v2.1/public/contracts/${id}/notes`)).body, note);
    await assertRejected(
      emulator,
      () => emulator.api("PUT", `/api/v2.1/public/contracts/${id}/notes/2`, { body }),
      notFoundResponse,
    );
  });
});

describe("business user", () => {
  it("must belong to the workspace and appears in payloads", async (t) => {
    const emulator = await startTestEmulator(t);
    const { number } = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_VOIDED"]);
    const setUser = (user_id: number, id = number) =>
      emulator.api("PATCH", `/api/v2.1/public/contracts/${id}/business_user/`, { body: { user_id } });
    assert.deepEqual(pickStatusAndBody(await setUser(12)), {
      status: 200,
      body: { user_id: 12, contract_id: 1, type: "BUSINESS" },
    });
    await emulator.control("POST", "contracts/1/void");
    assert.deepEqual((await readPayloads())[0]?.business_user, { name: "Ben Okafor", email: "ben@northwind.example" });
    await assertRejected(
      emulator,
      () => setUser(21),
      createFieldErrors({ user_id: ['Invalid pk "21" - object does not exist.'] }),
    );
    await assertRejected(emulator, () => setUser(12, 2), capitalNotFound);
  });
});

describe("relation between contracts", () => {
  it("makes contracts depend on each other, but rejects a cycle", async (t) => {
    const emulator = await startTestEmulator(t);
    for (let n = 0; n < 3; n += 1) await createDraftContract(emulator.api);
    const relate = (id: number, related_contract_id: number, relation_type: string) =>
      emulator.api("POST", `/api/v2.1/public/contracts/${id}/contract_relation/`, {
        body: { related_contract_id, relation_type },
      });
    assert.deepEqual(pickStatusAndBody(await relate(1, 2, "AMENDMENT")), {
      status: 201,
      body: { related_contract_id: 2, relation_type: "AMENDMENT" },
    });
    assert.equal((await relate(3, 2, "PARENT")).status, 201);
    const circular = { status: 400, body: { detail: "Circular contract relation.", code: "SVC_CONTRACTS_00093" } };
    await assertRejected(emulator, () => relate(3, 1, "CHILD"), circular);
    await assertRejected(emulator, () => relate(1, 3, "PARENT"), circular);
    await assertRejected(emulator, () => relate(1, 1, "CHILD"), circular);
    await assertRejected(
      emulator,
      () => relate(1, 9, "CHILD"),
      createFieldErrors({ related_contract_id: ['Invalid pk "9" - object does not exist.'] }),
    );
  });
});

describe("process metrics response", () => {
  it("reports when a contract passed each step and who must act next", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api, bilateralSigning);
    const metrics = async () =>
      (await emulator.api("GET", `/api/v2.1/public/contracts/${contract.number}/process_metrics/`)).body;
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    await emulator.control("POST", "contracts/1/sign");
    const signed = (is_creator_party: boolean, signed_datetime: string, signatory_email: string) => ({
      is_creator_party,
      signed_datetime,
      signatory_email,
    });
    const half = {
      contract_status: "SIGN",
      type_of_workflow: "TEMPLATE_WORKFLOW",
      pending_with: "CREATOR_PARTY",
      contract_sent_to_cp_datetime: "2031-01-02T03:04:05Z",
      marked_for_signature_datetime: "2031-01-02T03:04:05Z",
      contract_executed_datetime: null,
      contract_signed_by_signatory_list: [signed(false, "2031-01-02T04:04:05Z", "jo@acme.example")],
      contract_turns: { no_of_turns: 0 },
    };
    assert.deepEqual(await metrics(), half);
    await emulator.control("POST", "contracts/1/sign");
    assert.deepEqual(await metrics(), {
      ...half,
      contract_status: "EXECUTED",
      pending_with: null,
      contract_executed_datetime: "2031-01-02T04:04:05Z",
      contract_signed_by_signatory_list: [
        signed(true, "2031-01-02T04:04:05Z", "ada@northwind.example"),
        signed(false, "2031-01-02T04:04:05Z", "jo@acme.example"),
      ],
    });
    await assertRejected(
      emulator,
      () => emulator.api("GET", "/api/v2.1/public/contracts/2/process_metrics/"),
      capitalNotFound,
    );
  });
});

it("contract routes return 404 for an invalid contract number", async (t) => {
  const emulator = await startTestEmulator(t);
  const metrics = () => emulator.api("GET", "/api/v2.1/public/contracts/T-1/process_metrics/");
  await assertRejected(emulator, metrics, notFoundResponse);
  const body = { user_id: 12 };
  const owner = () => emulator.api("PATCH", "/api/v2.1/public/contracts/T-1/business_user/", { body });
  await assertRejected(emulator, owner, notFoundResponse);
});

it("contract routes return 404 for a contract of another workspace", async (t) => {
  const emulator = await startTestEmulator(t);
  await createDraftContract(emulator.api);
  const otherApi = await createWorkspaceApi(emulator, 2);
  await assertRejected(
    emulator,
    () => otherApi("PATCH", "/api/v2.1/public/contracts/T-1/contract_data", { body: { data: {} } }),
    notFoundResponse,
  );
  await assertRejected(emulator, () => otherApi("GET", "/api/v2.1/public/contracts/T-1/notes"), notFoundResponse);
  await assertRejected(
    emulator,
    () => otherApi("PUT", "/api/v2.1/public/contracts/T-1/notes/1", { body: { text: "x" } }),
    notFoundResponse,
  );
  await assertRejected(
    emulator,
    () => otherApi("PATCH", "/api/v2.1/public/contracts/1/business_user/", { body: { user_id: 21 } }),
    capitalNotFound,
  );
  const relation = { related_contract_id: 1, relation_type: "CHILD" };
  await assertRejected(
    emulator,
    () => otherApi("POST", "/api/v2.1/public/contracts/1/contract_relation/", { body: relation }),
    notFoundResponse,
  );
});
