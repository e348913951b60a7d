import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ContractIds,
  createDomainError,
  createDraftContract,
  createSentContract,
  getContractStatus,
  listRecipients,
} from "../../../support/contracts.ts";
import { listActivityNames, subscribe } from "../../../support/delivered-events.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected } from "../../../support/rejections.ts";

const performAction = ({ control }: TestEmulator, { id }: ContractIds, verb: string, body: object = {}) =>
  control("POST", `contracts/${id}/${verb}`, { body });

const listTurns = async ({ control }: TestEmulator, { id }: ContractIds): Promise<string[]> => {
  const { people } = (await control("GET", `contracts/${id}`)).body as {
    people: readonly { email: string; turn: readonly string[] }[];
  };
  return people.map(({ email, turn }) => `${email} ${turn.join(", ")}`.trim());
};

const ben = { email: "ben@northwind.example" };

describe("actions of a contract owner on the control plane", () => {
  it("sends the contract and invites its signatories, like the contract API", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNATURE_REQUESTED"]);
    assert.deepEqual(pickStatusAndBody(await performAction(emulator, contract, "send")), {
      status: 200,
      body: { contract_id: 1, composite_id: "T-1", contract_status: "SIGN", contract_name: "NDA with Acme" },
    });
    assert.deepEqual(await listRecipients(emulator.api, contract), ["jo@acme.example IN_PROGRESS"]);
    const [requestedEvent] = await readPayloads();
    assert.deepEqual(requestedEvent?.activity_data.performed_by, {
      name: "Ada Keller",
      email: "ada@northwind.example",
    });
    await assertRejected(
      emulator,
      () => performAction(emulator, contract, "send"),
      createDomainError("SVC_ASSUMED_101", "A contract in status SIGN cannot be sent to counterparties."),
    );
  });

  it("withdraws the contract from signature and marks it for execution again", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    assert.equal((await performAction(emulator, contract, "unmark")).status, 200);
    assert.equal(await getContractStatus(emulator.api, contract), "REDLINING");
    assert.equal((await performAction(emulator, contract, "unmark")).status, 400);
    assert.equal((await performAction(emulator, contract, "mark", ben)).status, 200);
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");
  });

  it("requests a review and an approval, which block sending", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_REVIEW_REQUESTED", "CONTRACT_APPROVAL_REQUESTED"]);
    assert.equal((await performAction(emulator, contract, "request-review", ben)).status, 200);
    assert.equal((await performAction(emulator, contract, "send")).status, 400);
    assert.deepEqual(await listTurns(emulator, contract), ["jo@acme.example", "ben@northwind.example review"]);
    assert.equal((await performAction(emulator, contract, "complete-review", ben)).status, 200);

    assert.equal((await performAction(emulator, contract, "request-approval")).status, 200);
    assert.equal((await performAction(emulator, contract, "request-approval")).status, 400);
    assert.equal((await performAction(emulator, contract, "mark")).status, 400);
    assert.deepEqual(await listTurns(emulator, contract), [
      "jo@acme.example",
      "ben@northwind.example",
      "ada@northwind.example approve",
    ]);
    assert.equal((await performAction(emulator, contract, "approve")).status, 200);
    assert.equal((await performAction(emulator, contract, "send")).status, 200);
    assert.equal(await getContractStatus(emulator.api, contract), "SIGN");
    assert.deepEqual(listActivityNames(await readPayloads()), [
      "CONTRACT_REVIEW_REQUESTED",
      "CONTRACT_APPROVAL_REQUESTED",
    ]);
  });

  it("rejects sending and marking without signatories or with an open step", async (t) => {
    const emulator = await startTestEmulator(t);
    const unassignedContract = await createDraftContract(emulator.api, { counter_party_details: [] });
    const [reviewContract, approvalContract] = [
      await createDraftContract(emulator.api),
      await createDraftContract(emulator.api),
    ];
    await performAction(emulator, reviewContract, "request-review", ben);
    await performAction(emulator, approvalContract, "request-approval", ben);
    for (const verb of ["send", "mark"]) {
      for (const [contract, code, message] of [
        [unassignedContract, "SVC_ASSUMED_102", "No signatories are configured for this contract."],
        [reviewContract, "SVC_ASSUMED_103", "The review of this contract is not complete."],
        [approvalContract, "SVC_ASSUMED_104", "Approvals of this contract are pending."],
      ] as const) {
        await assertRejected(emulator, () => performAction(emulator, contract, verb), createDomainError(code, message));
      }
    }
  });

  it("rejects all requests after execution", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createSentContract(emulator.api);
    assert.equal((await performAction(emulator, contract, "sign", { email: "jo@acme.example" })).status, 200);
    for (const [verb, words] of [
      ["mark", "marked for execution"],
      ["request-review", "sent for review"],
      ["request-approval", "sent for approval"],
    ] as const) {
      await assertRejected(
        emulator,
        () => performAction(emulator, contract, verb, verb === "mark" ? {} : ben),
        createDomainError("SVC_ASSUMED_101", `A contract in status EXECUTED cannot be ${words}.`),
      );
    }
  });

  it("rejects users who are not active members", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    for (const verb of ["request-review", "request-approval"]) {
      await assertRejected(emulator, () => performAction(emulator, contract, verb, { email: "jo@acme.example" }), {
        status: 404,
        body: {
          error: {
            code: "no_such_member",
            message: "The contract's workspace has no active member with the address jo@acme.example.",
          },
        },
      });
    }
  });

  it("returns 404 for an unknown contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const nowhere = { id: "T-9" } as ContractIds;
    for (const verb of ["send", "mark", "unmark", "request-review", "request-approval"]) {
      assert.equal((await performAction(emulator, nowhere, verb)).status, 404, verb);
    }
  });
});
