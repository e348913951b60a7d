import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyMove } from "../../../../emulator/cluster/contracts/lifecycle/lifecycle.ts";
import type { Contract, ContractReview } from "../../../../emulator/cluster/contracts/rows.ts";
import { contractsFailures } from "../../../../src/api/contracts/failures.ts";
import { type ContractStatus, lifecycle, type Trigger, triggers } from "../../../../src/api/contracts/lifecycle.ts";

const time = Date.parse("2031-01-02T03:04:05Z");
const statuses: readonly ContractStatus[] = ["DRAFT", "REDLINING", "SIGN", "EXECUTED", "ON_HOLD", "VOIDED"];

const signatory = {
  id: 1,
  name: "Jo Doe",
  email: "jo@acme.example",
  is_counterparty: true,
  counterparty_name: "Acme Inc.",
  title: "",
  note: null,
  sign_order: null,
  created_at: time,
  sent_at: null,
  action: null,
};

const createContract = (overrides: Partial<Contract> = {}): Contract => ({
  id: 7,
  cluster_id: "eu-1",
  workspace_id: 1,
  name: "NDA",
  kind: "TEMPLATE_CONTRACT",
  status: "DRAFT",
  held_from: null,
  contract_type_id: 301,
  template_id: 101,
  counterparty_review: false,
  entity_id: null,
  contract_data: {},
  intake_form: null,
  counterparties: [],
  signatories: [signatory],
  reviews: [],
  approvals: [],
  external_metadata: null,
  versions: [],
  note: null,
  parents: [],
  supporting_documents: [],
  created_by: 11,
  business_user_id: 11,
  created_at: time,
  updated_at: time,
  sent_to_counterparty_at: null,
  sent_for_signature_at: null,
  executed_at: null,
  deleted_at: null,
  ...overrides,
});

const createReview = (by: ContractReview["by"], completed_at: number | null = null): ContractReview => ({
  id: 1,
  by,
  reviewer_user_id: null,
  reviewer_role_id: null,
  description: "",
  requested_at: time,
  completed_at,
});

const createApproval = (status: "PENDING" | "APPROVED"): Contract["approvals"][number] => ({
  id: 1,
  name: "Finance",
  notes: "",
  approver_user_id: 12,
  approver_role_id: null,
  order: null,
  status,
  created_at: time,
  created_by: 11,
  actions: [],
});

/** The next status, or the failure of a rejected transition. */
function getNextStatus(row: Contract, trigger: Trigger): string {
  const outcome = applyMove(row, trigger, time);
  if (outcome.rejection !== undefined) return outcome.rejection;
  return outcome.contract.deleted_at === null ? outcome.contract.status : "(deleted)";
}

// Written by hand from DECISIONS.md, F9, C9, C11 and C22, independently of the table.
const no = "forbidden-move";
const expected: Readonly<Record<string, readonly string[]>> = {
  // In the order DRAFT, REDLINING, SIGN, EXECUTED, ON_HOLD, VOIDED.
  send: ["SIGN", no, no, no, no, no],
  "request-review": ["DRAFT", "REDLINING", no, no, no, no],
  "complete-review": ["no-open-review", "no-open-review", no, no, no, no],
  "request-approval": ["DRAFT", "REDLINING", no, no, no, no],
  approve: ["no-pending-approval", "no-pending-approval", no, no, no, no],
  "mark-for-execution": ["SIGN", "SIGN", no, no, no, no],
  "unmark-for-execution": [
    "cannot-unmark",
    "cannot-unmark",
    "REDLINING",
    "cannot-unmark",
    "cannot-unmark",
    "cannot-unmark",
  ],
  sign: [no, no, "SIGN", no, no, no],
  decline: [no, no, "DRAFT", no, no, no],
  "all-signed": [no, no, "EXECUTED", no, no, no],
  "upload-version": ["DRAFT", "REDLINING", no, no, no, no],
  "upload-executed-version": ["DRAFT", "REDLINING", "SIGN", no, no, no],
  "executed-outside": ["EXECUTED", "EXECUTED", "EXECUTED", no, no, no],
  void: ["VOIDED", "VOIDED", "VOIDED", "cannot-void-executed", "VOIDED", no],
  hold: ["ON_HOLD", "ON_HOLD", "ON_HOLD", no, no, no],
  resume: [no, no, no, no, "REDLINING", no],
  delete: ["(deleted)", "(deleted)", "(deleted)", "(deleted)", "(deleted)", "(deleted)"],
};

describe("contract lifecycle", () => {
  const moving = (Object.keys(triggers) as Trigger[]).filter((trigger) => triggers[trigger] !== "created");

  it("lists the effect of every trigger in every status", () => {
    assert.deepEqual(moving.toSorted(), Object.keys(expected).toSorted());
  });
  for (const trigger of moving) {
    it(`${trigger}: ${(expected[trigger] ?? []).join(", ")}`, () => {
      const row = (status: ContractStatus) =>
        createContract({ status, held_from: status === "ON_HOLD" ? "REDLINING" : null });
      assert.deepEqual(
        statuses.map((status) => getNextStatus(row(status), trigger)),
        expected[trigger],
      );
    });
  }

  it("starts the counterparty's review if the template requires it", () => {
    const outcome = applyMove(createContract({ counterparty_review: true }), "send", time);
    assert.ok(outcome.rejection === undefined);
    assert.equal(outcome.contract.status, "REDLINING");
    assert.deepEqual(outcome.contract.reviews, [createReview("counterparty")]);
  });

  const blocked: readonly (readonly [string, Partial<Contract>, string])[] = [
    ["no signatory exists", { signatories: [] }, "no-signatories"],
    ["a review is open", { reviews: [createReview("internal")] }, "review-open"],
    ["an approval is pending", { approvals: [createApproval("PENDING")] }, "approvals-pending"],
  ];
  for (const [label, overrides, code] of blocked) {
    it(`neither sends nor marks a contract while ${label}`, () => {
      assert.equal(getNextStatus(createContract(overrides), "send"), code);
      assert.equal(getNextStatus(createContract({ ...overrides, status: "REDLINING" }), "mark-for-execution"), code);
    });
  }

  it("completes an internal review without requesting signatures", () => {
    const row = createContract({
      status: "REDLINING",
      kind: "THIRD_PARTY_CONTRACT",
      reviews: [createReview("internal")],
    });
    const outcome = applyMove(row, "complete-review", time);
    assert.ok(outcome.rejection === undefined);
    assert.deepEqual(outcome.appliedMove.emits, ["CONTRACT_REVIEW_COMPLETED"]);
    assert.equal(outcome.contract.status, "REDLINING");
    assert.equal(getNextStatus(outcome.contract, "mark-for-execution"), "SIGN");
  });

  it("begins signature after the counterparty's review if no approval is pending", () => {
    const row = createContract({ status: "REDLINING", reviews: [createReview("counterparty")] });
    assert.equal(getNextStatus(row, "complete-review"), "SIGN");
    assert.equal(getNextStatus({ ...row, signatories: [] }, "complete-review"), "no-signatories");
  });

  it("waits for the last approval after the counterparty's review", () => {
    const row = createContract({
      status: "REDLINING",
      reviews: [createReview("counterparty")],
      approvals: [createApproval("PENDING")],
    });
    const reviewed = applyMove(row, "complete-review", time);
    assert.ok(reviewed.rejection === undefined);
    assert.equal(reviewed.contract.status, "REDLINING");
    assert.equal(getNextStatus(reviewed.contract, "approve"), "SIGN");
    const two = {
      ...reviewed.contract,
      approvals: [createApproval("PENDING"), { ...createApproval("PENDING"), id: 2 }],
    };
    assert.equal(getNextStatus(two, "approve"), "REDLINING");
  });

  it("returns declined paper to REDLINING and a template contract to DRAFT", () => {
    for (const kind of ["THIRD_PARTY_CONTRACT", "SIGN_CONTRACT"] as const) {
      assert.equal(getNextStatus(createContract({ kind, status: "SIGN" }), "decline"), "REDLINING");
    }
  });

  it("resumes in the status before the hold", () => {
    for (const status of ["DRAFT", "REDLINING", "SIGN"] as const) {
      const heldMove = applyMove(createContract({ status }), "hold", time);
      assert.ok(heldMove.rejection === undefined);
      assert.equal(getNextStatus(heldMove.contract, "resume"), status);
    }
  });

  it("contains no unreachable row and only declared failures", () => {
    for (const [i, row] of lifecycle.entries()) {
      if ("refusedAs" in row) assert.ok(row.refusedAs in contractsFailures);
      const hiding = lifecycle.slice(0, i).filter((earlier) => earlier.trigger === row.trigger && !("when" in earlier));
      for (const state of row.from) {
        assert.ok(
          !hiding.some(({ from }) => (from as readonly string[]).includes(state)),
          `${row.trigger} from ${state}`,
        );
      }
    }
  });
});
