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
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const performAction = ({ ask }: TestEmulator, { id }: ContractIds, verb: string, body: object = {}) =>
  ask("POST", `contracts/${id}/${verb}`, { body });

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

const uploadContract = async ({ api }: TestEmulator, more: object = {}): Promise<ContractIds> =>
  requireContract(
    api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
      body: await createUploadRequest({ contract_type_id: 302, ...more }),
    }),
  );

describe("signing", () => {
  it("executes the contract with the last signature and emits the execution", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    const readPayloads = await subscribe(t, on, ["CONTRACT_SIGNED", "CONTRACT_EXECUTED"]);
    assert.deepEqual(
      pickStatusAndBody(await performAction(on, contract, "sign", { email: "JO@acme.example", note: "Fine" })),
      {
        status: 200,
        body: {
          contract_id: 1,
          composite_id: "T-1",
          contract_status: "EXECUTED",
          contract_name: "NDA with Acme",
        },
      },
    );
    assert.deepEqual(await listRecipients(on.api, contract), ["jo@acme.example COMPLETED signed"]);
    const [signed, executed, ...rest] = await readPayloads();
    assert.deepEqual(rest, []);
    assert.equal(signed?.contract_status, "SIGN");
    assert.deepEqual(signed?.activity_data.performed_by, { name: "Jo Doe", email: "jo@acme.example" });
    assert.equal(executed?.contract_status, "EXECUTED");
    assert.deepEqual(executed?.activity_data.performed_by, { name: "SYSTEM" });
  });

  it("accepts only the next signatory in order", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api, bilateralSigning);
    await assertRejected(
      on,
      () => performAction(on, contract, "sign", { email: "ada@northwind.example" }),
      createDomainError("SVC_ASSUMED_109", "jo@acme.example signs before ada@northwind.example."),
    );
    await performAction(on, contract, "sign");
    assert.deepEqual(await listRecipients(on.api, contract), [
      "ada@northwind.example IN_PROGRESS",
      "jo@acme.example COMPLETED signed",
    ]);
    await assertRejected(
      on,
      () => performAction(on, contract, "sign", { email: "jo@acme.example" }),
      createDomainError(
        "SVC_ASSUMED_108",
        "jo@acme.example has already signed this contract. It is the turn of ada@northwind.example.",
      ),
    );
    await performAction(on, contract, "sign");
    assert.equal(await getContractStatus(on.api, contract), "EXECUTED");
  });

  it("rejects other users and other statuses", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api);
    await assertRejected(on, () => performAction(on, contract, "sign"), createForbiddenError("DRAFT", "signed"));
    await assertRejected(on, () => performAction(on, contract, "decline"), createForbiddenError("DRAFT", "declined"));
    await on.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    for (const verb of ["sign", "decline"]) {
      await assertRejected(
        on,
        () => performAction(on, contract, verb, { email: "eve@evil.example" }),
        createDomainError(
          "SVC_ASSUMED_107",
          "eve@evil.example is not a signatory of this contract. It is the turn of jo@acme.example.",
        ),
      );
    }
  });

  it("happens automatically in sequence with autoSignMs, restarting after a hold", async (t) => {
    const on = await startTestEmulator(t, { autoSignMs: 600_000 });
    const contract = await createSentContract(on.api, bilateralSigning);
    const at = async (time: string) => {
      await on.ask("POST", "clock/advance", { body: { to: `2031-01-02T${time}Z` } });
      return [await getContractStatus(on.api, contract), ...(await listRecipients(on.api, contract))];
    };
    assert.deepEqual(await at("03:14:04"), ["SIGN", "ada@northwind.example PENDING", "jo@acme.example IN_PROGRESS"]);
    assert.deepEqual(await at("03:14:05"), [
      "SIGN",
      "ada@northwind.example IN_PROGRESS",
      "jo@acme.example COMPLETED signed",
    ]);
    await performAction(on, contract, "hold");
    assert.equal((await at("03:30:00"))[0], "ON_HOLD");
    await performAction(on, contract, "resume");
    assert.equal((await at("03:39:59"))[0], "SIGN");
    assert.equal((await at("03:40:00"))[0], "EXECUTED");
  });
});

describe("declining", () => {
  it("returns a template contract to DRAFT and resets all signatories", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    const readPayloads = await subscribe(t, on, ["CONTRACT_SIGNATURE_DECLINED", "SIGNING_EMAIL_DELIVERED"]);
    await performAction(on, contract, "decline", { note: "Wrong amount" });
    assert.equal(await getContractStatus(on.api, contract), "DRAFT");
    assert.deepEqual(await listRecipients(on.api, contract), ["jo@acme.example COMPLETED declined"]);
    // Timers end when a contract leaves SIGN, so the e-mail of the declined round is not reported.
    assert.deepEqual(
      await readPayloads().then((events) => events.map(({ activity, contract_status }) => [activity, contract_status])),
      [["CONTRACT_SIGNATURE_DECLINED", "DRAFT"]],
    );
    const { body } = await on.ask("GET", "clock");
    assert.equal((body as { next_due: string | null }).next_due, null);
    await on.ask("POST", "clock/advance", { body: { by: "PT1H" } });
    assert.deepEqual(await readPayloads(), []);
    await on.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    assert.deepEqual(await listRecipients(on.api, contract), ["jo@acme.example IN_PROGRESS"]);
  });

  it("rejects signatories who are out of order or have signed", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api, bilateralSigning);
    await assertRejected(
      on,
      () => performAction(on, contract, "decline", { email: "ada@northwind.example" }),
      createDomainError("SVC_ASSUMED_109", "jo@acme.example signs before ada@northwind.example."),
    );
    await performAction(on, contract, "sign");
    await assertRejected(
      on,
      () => performAction(on, contract, "decline", { email: "jo@acme.example" }),
      createDomainError(
        "SVC_ASSUMED_108",
        "jo@acme.example has already signed this contract. It is the turn of ada@northwind.example.",
      ),
    );
  });
});

describe("reviews and approvals", () => {
  it("completes an internal review, and starts signature after the counterparty's", async (t) => {
    const on = await startTestEmulator(t);
    const ours = await uploadContract(on);
    const readPayloads = await subscribe(t, on, ["CONTRACT_REVIEW_COMPLETED", "CONTRACT_SIGNATURE_REQUESTED"]);
    await performAction(on, ours, "complete-review", { email: "ben@northwind.example" });
    assert.equal(await getContractStatus(on.api, ours), "REDLINING");
    await assertRejected(
      on,
      () => performAction(on, ours, "complete-review"),
      createDomainError("SVC_ASSUMED_105", "No review of this contract is open."),
    );
    const theirs = await createDraftContract(on.api, { contract_template_id: 104 });
    await on.api("POST", `/api/v2.1/public/contracts/${theirs.id}/send_to_counterparties`);
    await performAction(on, theirs, "complete-review");
    assert.equal(await getContractStatus(on.api, theirs), "SIGN");
    const events = await readPayloads();
    assert.deepEqual(listActivityNames(events), ["CONTRACT_REVIEW_COMPLETED", "CONTRACT_SIGNATURE_REQUESTED"]);
    assert.deepEqual(events[0]?.activity_data.performed_by, { name: "Ben Okafor", email: "ben@northwind.example" });
  });

  it("rejects the end of a counterparty's review without signatories", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api, { contract_template_id: 104, counter_party_details: [] });
    await on.api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`);
    await assertRejected(
      on,
      () => performAction(on, contract, "complete-review"),
      createDomainError("SVC_ASSUMED_102", "No signatories are configured for this contract."),
    );
  });

  it("approves in sequence until no approval is pending", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createDraftContract(on.api);
    const readPayloads = await subscribe(t, on, ["CONTRACT_APPROVAL_COMPLETED"]);
    await on.api("POST", `/api/v2.1/public/contracts/approvals/${contract.id}/`, {
      body: {
        approvals: [
          { name: "Finance", notes: "", approver_user_id: 12, order: 1 },
          { name: "Legal", notes: "", approver_user_id: 11, order: 2 },
        ],
      },
    });
    const approvals = async () => {
      const { body } = await on.api("GET", `/api/v2.1/public/contracts/approvals/${contract.id}/`);
      return (body as { results: { approval: { approval_name: string; status: string } }[] }).results.map(
        ({ approval }) => `${approval.approval_name} ${approval.status}`,
      );
    };
    await performAction(on, contract, "approve", { email: "ben@northwind.example", note: "ok" });
    assert.deepEqual((await approvals()).toSorted(), ["Finance APPROVED", "Legal PENDING"]);
    await performAction(on, contract, "approve");
    assert.deepEqual((await approvals()).toSorted(), ["Finance APPROVED", "Legal APPROVED"]);
    assert.equal((await readPayloads()).length, 2);
    await assertRejected(
      on,
      () => performAction(on, contract, "approve"),
      createDomainError("SVC_ASSUMED_106", "No approval of this contract is pending."),
    );
  });
});

describe("voiding, holding, deleting", () => {
  it("voids every contract that is not executed", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    const readPayloads = await subscribe(t, on, ["CONTRACT_VOIDED"]);
    await performAction(on, contract, "void", { note: "Deal lost" });
    assert.equal(await getContractStatus(on.api, contract), "VOIDED");
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_VOIDED"]);
    for (const [verb, words] of [
      ["void", "voided"],
      ["hold", "put on hold"],
      ["resume", "resumed"],
      ["complete-review", "reviewed"],
      ["approve", "approved"],
    ] as const) {
      await assertRejected(on, () => performAction(on, contract, verb), createForbiddenError("VOIDED", words));
    }
    const executed = await createSentContract(on.api);
    await performAction(on, executed, "sign");
    await assertRejected(on, () => performAction(on, executed, "void"), {
      status: 400,
      body: { detail: "Cannot void an executed contract." },
    });
  });

  it("holds and resumes in the earlier status, emitting only changed metrics", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    const readPayloads = await subscribe(t, on, [...activities]);
    await performAction(on, contract, "hold");
    assert.equal(await getContractStatus(on.api, contract), "ON_HOLD");
    await assertRejected(on, () => performAction(on, contract, "sign"), createForbiddenError("ON_HOLD", "signed"));
    await performAction(on, contract, "resume");
    assert.equal(await getContractStatus(on.api, contract), "SIGN");
    const few = (await readPayloads()).map(({ activity, contract_status }) => [activity, contract_status]);
    assert.deepEqual(few, [
      ["CONTRACT_PROCESS_METRIC_UPDATED", "ON_HOLD"],
      ["CONTRACT_PROCESS_METRIC_UPDATED", "SIGN"],
    ]);
  });

  it("deletes in any status, after which the contract is 404 and not listed", async (t) => {
    const on = await startTestEmulator(t);
    const contract = await createSentContract(on.api);
    const readPayloads = await subscribe(t, on, ["CONTRACT_DELETED"]);
    assert.equal(contract.id, "T-1");
    assert.equal((await on.ask("POST", "contracts/T-1/delete")).status, 200);
    assert.deepEqual(listActivityNames(await readPayloads()), ["CONTRACT_DELETED"]);
    assert.equal((await on.api("GET", "/api/v2.1/public/contracts/T-1/status")).status, 404);
    assert.deepEqual((await on.api("GET", "/api/v2.1/public/contracts/")).body, {
      page: 1,
      limit: 10,
      total_results: 0,
      results: [],
    });
    await assertRejected(on, () => performAction(on, contract, "sign"), createNotFoundResponse("T-1"));
  });
});

describe("contract parameter of a control plane request", () => {
  it("accepts a contract number or a composite ID", async (t) => {
    const on = await startTestEmulator(t);
    await createDraftContract(on.api);
    assert.equal((await on.ask("POST", "contracts/1/hold")).status, 200);
    assert.equal((await on.ask("POST", "contracts/T-1/resume", { body: {} })).status, 200);
  });

  it("rejects an unknown contract in every action", async (t) => {
    const on = await startTestEmulator(t);
    await createDraftContract(on.api);
    for (const verb of ["sign", "decline", "complete-review", "approve", "void", "hold", "resume", "delete"]) {
      for (const id of ["2", "T-2", "H-1", "nda"]) {
        await assertRejected(
          on,
          () => on.ask("POST", `contracts/${id}/${verb}`, { body: {} }),
          createNotFoundResponse(id),
        );
      }
    }
    await assertRejected(
      on,
      () => on.ask("POST", "activities", { body: { activity: "CONTRACT_SIGNED", contract_id: "T-2" } }),
      createNotFoundResponse("T-2"),
    );
  });
});

describe("triggering an activity", () => {
  it("uses the newest contract of any workspace by default", async (t) => {
    const on = await startTestEmulator(t);
    const fire = () => on.ask("POST", "activities", { body: { activity: "CONTRACT_SIGNED" } });
    const about = (contract_id: number) => ({
      status: 200,
      body: { activity: "CONTRACT_SIGNED", contract_id, composite_id: `T-${contract_id}`, deliveries: [] },
    });
    const bare = await startTestEmulator(t, { seed: "empty" });
    await assertRejected(bare, () => bare.ask("POST", "activities", { body: { activity: "CONTRACT_SIGNED" } }), {
      status: 404,
      body: {
        error: {
          code: "no_contract_or_template",
          message: "No contract or template exists for the activity.",
          hint: "Start with a seed that has a template, such as demo.",
        },
      },
    });
    const purchases = await createWorkspaceApi(on, 2);
    const [first, second] = [
      await createDraftContract(purchases, { contract_template_id: 103 }),
      await createDraftContract(on.api),
    ];
    const third = await createDraftContract(purchases, { contract_template_id: 103 });
    assert.deepEqual(pickStatusAndBody(await fire()), about(third.number));
    await performAction(on, third, "delete");
    assert.deepEqual(pickStatusAndBody(await fire()), about(second.number));
    await performAction(on, second, "delete");
    assert.deepEqual(pickStatusAndBody(await fire()), about(first.number));
  });

  it("adds the given keys to activity_data", async (t) => {
    const on = await startTestEmulator(t);
    await createDraftContract(on.api);
    const readPayloads = await subscribe(t, on, ["SIGNING_EMAIL_OPENED"]);
    const data = { device: "phone" };
    await on.ask("POST", "activities", { body: { activity: "SIGNING_EMAIL_OPENED", contract_id: "T-1", data } });
    const [opened] = await readPayloads();
    assert.deepEqual(opened?.activity_data, {
      performed_by: { name: "SYSTEM" },
      timestamp: "2031-01-02T03:04:05.000000Z",
      email_event_data: {
        recipient_email: "jo@acme.example",
        email_mode: "to",
        occured_at: "2031-01-02T03:04:05.000000Z",
      },
      device: "phone",
    });
  });

  it("overrides fields of the payload and rejects unknown ones", async (t) => {
    const on = await startTestEmulator(t);
    await createDraftContract(on.api);
    const readPayloads = await subscribe(t, on, ["CONTRACT_SIGNED"]);
    const fire = (overrides: object) =>
      on.ask("POST", "activities", { body: { activity: "CONTRACT_SIGNED", contract_id: 1, overrides, wait: true } });
    assert.equal((await fire({ contract_title: "Lease" })).status, 200);
    await assertRejected(on, () => fire({ "activity_data.performed_by.nme": "Jo" }), {
      status: 400,
      body: {
        error: {
          code: "no_such_field",
          message: "The payload has no activity_data.performed_by.nme. Known: name.",
        },
      },
    });
    assert.deepEqual(
      (await readPayloads()).map(({ contract_title }) => contract_title),
      ["Lease"],
    );
  });
});
