import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activities } from "../../../../src/api/activities.ts";
import {
  bilateralSigning,
  type ContractIds,
  createDomainError,
  createDraftContract,
  createSentContract,
  createUploadRequest,
  getContractStatus,
  listRecipients,
  requireContract,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const performAction = ({ control }: TestEmulator, { id }: ContractIds, verb: string, body: object = {}) =>
  control("POST", `contracts/${id}/${verb}`, { body });

const assertActionRejected = (
  emulator: TestEmulator,
  contract: ContractIds,
  verb: string,
  expected: Parameters<typeof assertRejected>[2],
) => assertRejected(emulator, () => performAction(emulator, contract, verb), expected);

const createNotFoundResponse = (id: string) => ({
  status: 404,
  body: {
    error: {
      code: "no_such_contract",
      message: `Contract ${id} not found.`,
      hint: "Use its number (12) or its composite ID (T-12). `svc emulator contracts` lists all contracts.",
    },
  },
});

const createForbiddenError = (status: string, words: string) =>
  createDomainError("SVC_ASSUMED_101", `A contract in status ${status} cannot be ${words}.`);

const uploadContract = async ({ api }: TestEmulator, overrides: object = {}): Promise<ContractIds> =>
  requireContract(
    api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
      body: await createUploadRequest({ contract_type_id: 302, ...overrides }),
    }),
  );

describe("signing", () => {
  it("executes the contract with the last signature and emits the execution", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNED", "CONTRACT_EXECUTED"]);
    assert.deepEqual(
      pickStatusAndBody(await performAction(emulator, contract, "sign", { email: "JO@acme.example", note: "Fine" })),
      {
        status: 200,
        body: { contract_id: 1, composite_id: "T-1", contract_status: "EXECUTED", contract_name: "NDA with Acme" },
      },
    );
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example COMPLETED signed"]);
    const [signed, executedContract, ...rest] = await readPayloads();
    assert.deepEqual(rest, []);
    assert.equal(signed?.contract_status, "SIGN");
    assert.deepEqual(signed?.activity_data.performed_by, { name: "Jo Doe", email: "jo@acme.example" });
    assert.equal(executedContract?.contract_status, "EXECUTED");
    assert.deepEqual(executedContract?.activity_data.performed_by, { name: "SYSTEM" });
  });

  it("accepts only the next signatory in order", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api, bilateralSigning);
    await assertRejected(
      emulator,
      () => performAction(emulator, contract, "sign", { email: "ada@northwind.example" }),
      createDomainError("SVC_ASSUMED_109", "jo@acme.example signs before ada@northwind.example."),
    );
    await performAction(emulator, contract, "sign");
    assert.deepEqual(await listRecipients(emulator.api, contract), [
      "ada@northwind.example IN_PROGRESS",
      "jo@acme.example COMPLETED signed",
    ]);
    await assertRejected(
      emulator,
      () => performAction(emulator, contract, "sign", { email: "jo@acme.example" }),
      createDomainError(
        "SVC_ASSUMED_108",
        "jo@acme.example has already signed this contract. It is the turn of ada@northwind.example.",
      ),
    );
    await performAction(emulator, contract, "sign");
    assert.equal(await getContractStatus(emulator.api, contract), "EXECUTED");
  });

  it("rejects other users and other statuses", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    await assertActionRejected(emulator, contract, "sign", createForbiddenError("DRAFT", "signed"));
    await assertActionRejected(emulator, contract, "decline", createForbiddenError("DRAFT", "declined"));
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    for (const verb of ["sign", "decline"]) {
      await assertRejected(
        emulator,
        () => performAction(emulator, contract, verb, { email: "eve@evil.example" }),
        createDomainError(
          "SVC_ASSUMED_107",
          "eve@evil.example is not a signatory of this contract. It is the turn of jo@acme.example.",
        ),
      );
    }
  });

  it("happens automatically in sequence with autoSignMs, restarting after a hold", async (t) => {
    const emulator = await startTestEmulator(t, { autoSignMs: 600_000 });
    const contract = await createSentContract(emulator.api, bilateralSigning);
    const advanceTo = async (time: string) => {
      await emulator.control("POST", "clock/advance", { body: { to: `2031-01-02T${time}Z` } });
      return [await getContractStatus(emulator.api, contract), ...(await listRecipients(emulator.api, contract))];
    };
    assert.deepEqual(await advanceTo("03:14:04"), [
      "SIGN",
      "ada@northwind.example PENDING",
      "jo@acme.example IN_PROGRESS",
    ]);
    assert.deepEqual(await advanceTo("03:14:05"), [
      "SIGN",
      "ada@northwind.example IN_PROGRESS",
      "jo@acme.example COMPLETED signed",
    ]);
    await performAction(emulator, contract, "hold");
    assert.equal((await advanceTo("03:30:00"))[0], "ON_HOLD");
    await performAction(emulator, contract, "resume");
    assert.equal((await advanceTo("03:39:59"))[0], "SIGN");
    assert.equal((await advanceTo("03:40:00"))[0], "EXECUTED");
  });
});

describe("declining", () => {
  it("returns a template contract to DRAFT and resets all signatories", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNATURE_DECLINED", "SIGNING_EMAIL_DELIVERED"]);
    await performAction(emulator, contract, "decline", { note: "Wrong amount" });
    assert.equal(await getContractStatus(emulator.api, contract), "DRAFT");
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example COMPLETED declined"]);
    // Timers end when a contract leaves SIGN, so the e-mail of the declined round is not reported.
    assert.deepEqual(
      await readPayloads().then((events) => events.map(({ activity, contract_status }) => [activity, contract_status])),
      [["CONTRACT_SIGNATURE_DECLINED", "DRAFT"]],
    );
    const { body } = await emulator.control("GET", "clock");
    assert.equal((body as { next_due: string | null }).next_due, null);
    await emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(await readPayloads(), []);
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example IN_PROGRESS"]);
  });

  it("rejects signatories who are out of order or have signed", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api, bilateralSigning);
    await assertRejected(
      emulator,
      () => performAction(emulator, contract, "decline", { email: "ada@northwind.example" }),
      createDomainError("SVC_ASSUMED_109", "jo@acme.example signs before ada@northwind.example."),
    );
    await performAction(emulator, contract, "sign");
    await assertRejected(
      emulator,
      () => performAction(emulator, contract, "decline", { email: "jo@acme.example" }),
      createDomainError(
        "SVC_ASSUMED_108",
        "jo@acme.example has already signed this contract. It is the turn of ada@northwind.example.",
      ),
    );
  });
});

describe("reviews and approvals", () => {
  it("completes an internal review, and starts signature after the counterparty's", async (t) => {
    const emulator = await startTestEmulator(t);
    const ours = await uploadContract(emulator);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_REVIEW_COMPLETED", "CONTRACT_SIGNATURE_REQUESTED"]);
    await performAction(emulator, ours, "complete-review", { email: "ben@northwind.example" });
    assert.equal(await getContractStatus(emulator.api, ours), "REDLINING");
    await assertActionRejected(
      emulator,
      ours,
      "complete-review",
      createDomainError("SVC_ASSUMED_105", "No review of this contract is open."),
    );
    const theirs = await createDraftContract(emulator.api, { contract_template_id: 104 });
    await emulator.api("POST", `/api/v2.1/public/contracts/${theirs.id}/send_to_counterparties`);
    await performAction(emulator, theirs, "complete-review");
    assert.equal(await getContractStatus(emulator.api, theirs), "SIGN");
    const events = await readPayloads();
    assert.deepEqual(listActivityNames(events), ["CONTRACT_REVIEW_COMPLETED", "CONTRACT_SIGNATURE_REQUESTED"]);
    assert.deepEqual(events[0]?.activity_data.performed_by, { name: "Ben Okafor", email: "ben@northwind.example" });
  });

  it("rejects the end of a counterparty's review without signatories", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api, { contract_template_id: 104, counter_party_details: [] });
    await emulator.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertActionRejected(
      emulator,
      contract,
      "complete-review",
      createDomainError("SVC_ASSUMED_102", "No signatories are configured for this contract."),
    );
  });

  it("approves in sequence until no approval is pending", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_APPROVAL_COMPLETED"]);
    await emulator.api("POST", `/api/v2.1/public/contracts/approvals/${contract.id}/`, {
      body: {
        approvals: [
          { name: "Finance", notes: "", approver_user_id: 12, order: 1 },
          { name: "Legal", notes: "", approver_user_id: 11, order: 2 },
        ],
      },
    });
    const approvals = async () => {
      const { body } = await emulator.api("GET", `/api/v2.1/public/contracts/approvals/${contract.id}/`);
      return (body as { results: { approval: { approval_name: string; status: string } }[] }).results.map(
        ({ approval }) => `${approval.approval_name} ${approval.status}`,
      );
    };
    await performAction(emulator, contract, "approve", { email: "ben@northwind.example", note: "ok" });
    assert.deepEqual((await approvals()).toSorted(), ["Finance APPROVED", "Legal PENDING"]);
    await performAction(emulator, contract, "approve");
    assert.deepEqual((await approvals()).toSorted(), ["Finance APPROVED", "Legal APPROVED"]);
    assert.equal((await readPayloads()).length, 2);
    await assertActionRejected(
      emulator,
      contract,
      "approve",
      createDomainError("SVC_ASSUMED_106", "No approval of this contract is pending."),
    );
  });
});

describe("voiding, holding, deleting", () => {
  it("voids every contract that is not executed", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_VOIDED"]);
    await performAction(emulator, contract, "void", { note: "Deal lost" });
    assert.equal(await getContractStatus(emulator.api, contract), "VOIDED");
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_VOIDED"]);
    for (const [verb, words] of [
      ["void", "voided"],
      ["hold", "put on hold"],
      ["resume", "resumed"],
      ["complete-review", "reviewed"],
      ["approve", "approved"],
    ] as const) {
      await assertActionRejected(emulator, contract, verb, createForbiddenError("VOIDED", words));
    }
    const executed = await createSentContract(emulator.api);
    await performAction(emulator, executed, "sign");
    await assertActionRejected(emulator, executed, "void", {
      status: 400,
      body: { detail: "Cannot void an executed contract." },
    });
  });

  it("holds and resumes in the earlier status, emitting only changed metrics", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, [...activities]);
    await performAction(emulator, contract, "hold");
    assert.equal(await getContractStatus(emulator.api, contract), "ON_HOLD");
    await assertActionRejected(emulator, contract, "sign", createForbiddenError("ON_HOLD", "signed"));
    await performAction(emulator, contract, "resume");
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");
    const summaries = (await readPayloads()).map(({ activity, contract_status }) => [activity, contract_status]);
    assert.deepEqual(summaries, [
      ["CONTRACT_PROCESS_METRIC_UPDATED", "ON_HOLD"],
      ["CONTRACT_PROCESS_METRIC_UPDATED", "SIGN"],
    ]);
  });

  it("deletes in any status, after which the contract is 404 and not listed", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_DELETED"]);
    assert.equal(contract.id, "T-1");
    assert.equal((await emulator.control("POST", "contracts/T-1/delete")).status, 200);
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_DELETED"]);
    assert.equal((await emulator.api("GET", "/api/v2.1/public/contracts/T-1/status")).status, 404);
    assert.deepEqual((await emulator.api("GET", "/api/v2.1/public/contracts/")).body, {
      page: 1,
      limit: 10,
      total_results: 0,
      results: [],
    });
    await assertActionRejected(emulator, contract, "sign", createNotFoundResponse("T-1"));
  });
});

describe("contract parameter of a control plane request", () => {
  it("accepts a contract number or a composite ID", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    assert.equal((await emulator.control("POST", "contracts/1/hold")).status, 200);
    assert.equal((await emulator.control("POST", "contracts/T-1/resume", { body: {} })).status, 200);
  });

  it("rejects an unknown contract in every action", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    for (const verb of ["sign", "decline", "complete-review", "approve", "void", "hold", "resume", "delete"]) {
      for (const id of ["2", "T-2", "H-1", "nda"]) {
        await assertRejected(
          emulator,
          () => emulator.control("POST", `contracts/${id}/${verb}`, { body: {} }),
          createNotFoundResponse(id),
        );
      }
    }
    await assertRejected(
      emulator,
      () => emulator.control("POST", "activities", { body: { activity: "CONTRACT_SIGNED", contract_id: "T-2" } }),
      createNotFoundResponse("T-2"),
    );
  });
});
