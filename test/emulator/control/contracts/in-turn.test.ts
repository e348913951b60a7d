import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ContractIds,
  createDraftContract,
  createUploadRequest,
  requireContract,
} from "../../../support/contracts.ts";
import { subscribe } from "../../../support/delivered-events.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";

const performAction = async ({ control }: TestEmulator, { id }: ContractIds, verb: string, body: object = {}) => {
  const { status, body: responseBody } = await control("POST", `contracts/${id}/${verb}`, { body });
  assert.equal(status, 200, JSON.stringify(responseBody));
};

const ada = { name: "Ada Keller", email: "ada@northwind.example" };
const ben = { name: "Ben Okafor", email: "ben@northwind.example" };
const jo = { name: "Jo Doe", email: "jo@acme.example" };

/** Requested approvals with their status. */
async function listApprovals({ api }: TestEmulator, { id }: ContractIds): Promise<string[]> {
  const { body } = await api("GET", `/api/v2.1/public/contracts/approvals/${id}/`);
  const { results } = body as { results: { approval: { approval_name: string; status: string } }[] };
  return results.map(({ approval }) => `${approval.approval_name} ${approval.status}`);
}

describe("review or approval without a named user", () => {
  it("acts as a requested user, not as the contract's owner", async (t) => {
    const emulator = await startTestEmulator(t);
    // The contract type requires a review by a role, which Ben has.
    const contract = await requireContract(
      emulator.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
        body: await createUploadRequest({ contract_type_id: 302 }),
      }),
    );
    const approvalContract = await createDraftContract(emulator.api);
    await emulator.control("POST", `contracts/${approvalContract.id}/request-approval`, { body: { email: ben.email } });
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_REVIEW_COMPLETED", "CONTRACT_APPROVAL_COMPLETED"]);
    await performAction(emulator, contract, "complete-review");
    await performAction(emulator, approvalContract, "approve");
    assert.deepEqual(
      (await readPayloads()).map(({ activity_data }) => activity_data.performed_by),
      [ben, ben],
    );
  });

  it("acts as the contact in the counterparty's review, under the contact's name", async (t) => {
    const emulator = await startTestEmulator(t);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_SIGNATURE_REQUESTED"]);
    for (const body of [{}, { email: "JO@acme.example" }]) {
      const contract = await createDraftContract(emulator.api, { contract_template_id: 104 });
      await performAction(emulator, contract, "send");
      await performAction(emulator, contract, "complete-review", body);
    }
    assert.deepEqual(
      (await readPayloads()).map(({ activity_data }) => activity_data.performed_by),
      [jo, jo],
    );
  });
});

describe("approval by a role", () => {
  it("accepts only a member with the role", async (t) => {
    const emulator = await startTestEmulator(t);
    const contract = await createDraftContract(emulator.api);
    const readPayloads = await subscribe(t, emulator, ["CONTRACT_APPROVAL_COMPLETED"]);
    await emulator.api("POST", `/api/v2.1/public/contracts/approvals/${contract.id}/`, {
      body: {
        approvals: [
          { name: "Counsel", notes: "", approver_user_id: 11 },
          { name: "Reviewers", notes: "", approver_role_id: 2 },
        ],
      },
    });
    await performAction(emulator, contract, "approve", { email: ben.email });
    assert.deepEqual(await listApprovals(emulator, contract), ["Counsel PENDING", "Reviewers APPROVED"]);
    await performAction(emulator, contract, "approve");
    assert.deepEqual(await listApprovals(emulator, contract), ["Counsel APPROVED", "Reviewers APPROVED"]);
    assert.deepEqual(
      (await readPayloads()).map(({ activity_data }) => activity_data.performed_by),
      [ben, ada],
    );
  });
});
