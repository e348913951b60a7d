import {
  type Condition,
  lifecycleRows,
  type Move,
  type Requirement,
  requirements,
  type Trigger,
  triggers,
} from "../../../../src/api/contracts/lifecycle.ts";
import type { FailureCode } from "../../../../src/api/failures.ts";
import { isOneOf } from "../../../../src/base/object.ts";
import type { Contract, ContractApproval, ContractReview, ContractSignatory } from "../rows.ts";

type TransitionResult =
  | { readonly rejection?: undefined; readonly appliedMove: Move; readonly contract: Contract }
  | { readonly rejection: FailureCode; readonly data: unknown };

const hasOpenReview = (contract: Contract, by: "internal" | "counterparty"): boolean =>
  contract.reviews.some((review) => review.by === by && review.completed_at === null);

export const isOpenApproval = ({ status }: ContractApproval): boolean =>
  status === "PENDING" || status === "NOT_STARTED";

const countPendingApprovals = ({ approvals }: Contract): number => approvals.filter(isOpenApproval).length;

const conditionChecks: Readonly<Record<Condition, (contract: Contract) => boolean>> = {
  "template-asks-for-review": (contract) => contract.counterparty_review,
  "internal-review-open": (contract) => hasOpenReview(contract, "internal"),
  "approvals-pending": (contract) => hasOpenReview(contract, "counterparty") && countPendingApprovals(contract) > 0,
  "counterparty-review-open": (contract) =>
    hasOpenReview(contract, "counterparty") && countPendingApprovals(contract) === 0,
  "approval-was-last": (contract) =>
    countPendingApprovals(contract) === 1 &&
    contract.reviews.every((review) => review.completed_at !== null) &&
    contract.reviews.some((review) => review.by === "counterparty") &&
    contract.signatories.length > 0,
  "from-template": (contract) => contract.kind === "TEMPLATE_CONTRACT",
};

const requirementChecks: Readonly<Record<Requirement, (contract: Contract) => boolean>> = {
  "has-signatories": (contract) => contract.signatories.length > 0,
  "reviews-complete": (contract) => contract.reviews.every((review) => review.completed_at !== null),
  "approvals-complete": (contract) => countPendingApprovals(contract) === 0,
  "review-open": (contract) => contract.reviews.some((review) => review.completed_at === null),
  "approval-pending": (contract) => countPendingApprovals(contract) > 0,
};

/** Follows the table of src/api/contracts/lifecycle.ts. `from` is "(new)" for a new contract, `at` in virtual ms. */
export function applyMove(
  contract: Contract,
  trigger: Trigger,
  at: number,
  from: Move["from"][number] = contract.status,
): TransitionResult {
  const row = lifecycleRows.find(
    (candidate) =>
      candidate.trigger === trigger &&
      isOneOf(candidate.from, from) &&
      (!("when" in candidate) || candidate.when === undefined || conditionChecks[candidate.when](contract)),
  );
  if (!row) return { rejection: "forbidden-move", data: { status: from, words: triggers[trigger] } };
  if ("refusedAs" in row) return { rejection: row.refusedAs, data: undefined };
  const unmetRequirement = row.requires?.find((requirement) => !requirementChecks[requirement](contract));
  if (unmetRequirement !== undefined) return { rejection: requirements[unmetRequirement], data: undefined };
  return { appliedMove: row, contract: setStatus(contract, row, at) };
}

function setStatus(contract: Contract, { trigger, to }: Move, at: number): Contract {
  const result = { ...updateReviews(contract, trigger, to, at), updated_at: at };
  switch (to) {
    case "=":
      return result;
    case "(deleted)":
      return { ...result, deleted_at: at };
    case "held":
      return { ...result, status: contract.held_from ?? "DRAFT", held_from: null };
    case "ON_HOLD":
      return { ...result, status: to, held_from: contract.status };
    case "SIGN":
      return { ...result, status: to, sent_for_signature_at: at, signatories: markInvited(contract.signatories, at) };
    case "EXECUTED":
      return { ...result, status: to, executed_at: at };
    case "VOIDED":
      return { ...result, status: to, held_from: null };
    default:
      return { ...result, status: to, signatories: clearInvitations(contract.signatories) };
  }
}

function updateReviews(contract: Contract, trigger: Trigger, to: Move["to"], at: number): Contract {
  if (trigger === "send" && to === "REDLINING") {
    const reviewer = { reviewer_user_id: null, reviewer_role_id: null, description: "" };
    return { ...addReview(contract, { by: "counterparty", ...reviewer }, at), sent_to_counterparty_at: at };
  }
  if (trigger === "send") return { ...contract, sent_to_counterparty_at: at };
  if (trigger === "complete-review") return { ...contract, reviews: completeNextReview(contract, at) };
  return contract;
}

export const addReview = (
  contract: Contract,
  reviewRequest: Pick<ContractReview, "by" | "reviewer_user_id" | "reviewer_role_id" | "description">,
  at: number,
): Contract => {
  const review = { id: contract.reviews.length + 1, ...reviewRequest, requested_at: at, completed_at: null };
  return { ...contract, reviews: [...contract.reviews, review] };
};

/** Internal reviews come first, because a counterparty's review completes after them. */
export function findNextReview({ reviews }: Pick<Contract, "reviews">): ContractReview | undefined {
  const waiting = reviews.filter((review) => review.completed_at === null);
  return waiting.find((review) => review.by === "internal") ?? waiting[0];
}

function completeNextReview({ reviews }: Contract, at: number): Contract["reviews"] {
  const nextReview = findNextReview({ reviews });
  return reviews.map((review) => (review === nextReview ? { ...review, completed_at: at } : review));
}

function markInvited(signatories: readonly ContractSignatory[], at: number): ContractSignatory[] {
  const clearedSignatories = signatories.map((signatory) => ({ ...signatory, action: null, sent_at: null }));
  return inviteNextSignatories(clearedSignatories, at);
}

/** Voids all signatures and ends the links. A declined signature stays visible until the next round. */
function clearInvitations(signatories: readonly ContractSignatory[]): ContractSignatory[] {
  return signatories.map((signatory) =>
    signatory.action?.is_success === false ? signatory : { ...signatory, action: null, sent_at: null },
  );
}

/** Returns all next signatories if signing starts, otherwise only the new ones. */
export function findInvitedSignatories({ to }: Move, before: Contract, after: Contract): ContractSignatory[] {
  const invitedIds = new Set(
    to === "SIGN" ? [] : before.signatories.flatMap(({ id, sent_at }) => (sent_at === null ? [] : id)),
  );
  return after.signatories.filter(({ id, sent_at }) => sent_at !== null && !invitedIds.has(id));
}

/** Returns the approvals that the move requested. Those of a later order are requested when it is their turn. */
export function findRequestedApprovals(before: Contract, after: Contract): ContractApproval[] {
  const wasPending = new Set(before.approvals.flatMap(({ id, status }) => (status === "PENDING" ? id : [])));
  return after.approvals.filter(({ id, status }) => status === "PENDING" && !wasPending.has(id));
}

/** Returns an earlier signatory who has not signed yet. Without an order no signatory precedes another. */
export function findPrecedingSignatory(
  signatories: readonly ContractSignatory[],
  { sign_order }: ContractSignatory,
): ContractSignatory | undefined {
  if (sign_order === null) return undefined;
  return signatories.find(
    (other) => other.action === null && other.sign_order !== null && other.sign_order < sign_order,
  );
}

export function findNextSignatories(signatories: readonly ContractSignatory[]): ContractSignatory[] {
  const first = findFirstOrder(signatories);
  return signatories.filter((each) => each.action === null && mustSignNext(each, first));
}

export function inviteNextSignatories(signatories: readonly ContractSignatory[], at: number): ContractSignatory[] {
  const first = findFirstOrder(signatories);
  return signatories.map((signatory) =>
    signatory.action === null && signatory.sent_at === null && mustSignNext(signatory, first)
      ? { ...signatory, sent_at: at }
      : signatory,
  );
}

const findFirstOrder = (signatories: readonly ContractSignatory[]): number =>
  signatories.reduce(
    (min, { action, sign_order }) => (action === null && sign_order !== null ? Math.min(min, sign_order) : min),
    Number.POSITIVE_INFINITY,
  );

const mustSignNext = ({ sign_order }: ContractSignatory, first: number): boolean =>
  sign_order === null || sign_order <= first;
