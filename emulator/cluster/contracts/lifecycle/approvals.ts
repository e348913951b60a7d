import type {
  listApprovals,
  requestApprovals as requestContractApprovals,
} from "../../../../src/api/contracts/approvals.ts";
import type { RejectionCode } from "../../../../src/api/contracts/lifecycle.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import type { InputOf, ResultOf } from "../../../../src/api/operation.ts";
import { toIsoSeconds } from "../../../../src/base/clock.ts";
import type { Workspace } from "../../../domain/workspaces.ts";
import { ProblemCollector } from "../../../http/dialects/field-problems.ts";
import { inTransaction } from "../../../http/handler.ts";
import type { Transaction, View } from "../../../store/port.ts";
import type { Performer } from "../../../webhooks/emit.ts";
import type { ClusterHandlers } from "../../context.ts";
import { toOrgUser } from "../../workspace/users.ts";
import { findAssigneeProblem } from "../../workspace/workspace-rows.ts";
import { toPerformer } from "../records.ts";
import { type Contract, type ContractApproval, requireContract } from "../rows.ts";
import { isOpenApproval } from "./lifecycle.ts";
import { type LifecycleContext, transitionContract } from "./transition.ts";

export const approvalHandlers = {
  "approvals.create": inTransaction((tx, { params, body }, context) => {
    const { caller, fail } = context;
    const contract = requireContract(tx, caller, params.composite_id, fail);
    requireApprovers(tx, caller.workspace, body.approvals, fail);
    const performer = toPerformer(caller);
    const approvalRequest = { performer, created_by: caller.user.id, requests: body.approvals };
    const after = requestApprovals(tx, context, contract, approvalRequest, fail);
    return after.approvals.slice(-body.approvals.length).map((approval) => toRequestRecord(approval, after));
  }),

  "approvals.list": ({ params }, { store, caller, fail }) => {
    const contract = requireContract(store, caller, params.composite_id, fail);
    return { results: contract.approvals.map((approval) => toApprovalRecord(store, approval, contract)) };
  },
} satisfies ClusterHandlers;

type ApprovalRequests = InputOf<typeof requestContractApprovals>["body"]["approvals"];

/** Adds approvals, and requests those that are due. */
export function requestApprovals(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  {
    performer,
    created_by,
    requests,
  }: { readonly performer: Performer; readonly created_by: number; readonly requests: ApprovalRequests },
  fail: Fail<"approvals-in-progress" | RejectionCode<"request-approval">>,
): Contract {
  if (contract.approvals.some(isOpenApproval)) fail("approvals-in-progress");
  const newApprovals = requests.map(
    ({ name, notes, approver_user_id = null, approver_role_id = null, order = null }): ContractApproval => ({
      id: tx.next("approval"),
      ...{ name, notes, approver_user_id, approver_role_id, order },
      status: "NOT_STARTED",
      created_by,
      created_at: context.clock.now(),
      actions: [],
    }),
  );
  const patch = (row: Contract) => ({ ...row, approvals: requestDueApprovals([...row.approvals, ...newApprovals]) });
  return transitionContract(tx, context, contract, "request-approval", { performer, patch }, fail);
}

const onlyOneApprover = "Only one of approver_user_id and approver_role_id can be given";

function requireApprovers(
  view: View,
  workspace: Workspace,
  requests: ApprovalRequests,
  fail: Fail<"invalid-fields">,
): void {
  const problems = new ProblemCollector();
  for (const [index, { approver_user_id, approver_role_id }] of requests.entries()) {
    const assignee = { approver_user_id, approver_role_id };
    problems.addAll(["approvals", index], findAssigneeProblem(view, workspace, assignee, onlyOneApprover));
  }
  if (problems.fields) fail("invalid-fields", problems.fields);
}

const toRequestRecord = (
  { id, name, notes, approver_user_id, approver_role_id, order, status }: ContractApproval,
  { id: contract_id }: Contract,
): ResultOf<typeof requestContractApprovals>[number] => ({
  ...{ id, contract_id, name, notes, is_sent: status !== "NOT_STARTED" },
  ...(approver_user_id !== null && { approver_user_id }),
  ...(approver_role_id !== null && { approver_role_id }),
  ...(order !== null && { order }),
});

function toApprovalRecord(
  view: View,
  approval: ContractApproval,
  contract: Contract,
): ResultOf<typeof listApprovals>["results"][number] {
  const isSent = approval.status !== "NOT_STARTED";
  return {
    approval: {
      id: approval.id,
      contract_id: contract.id,
      approval_name: approval.name,
      // Approvals of the public route are always requested manually.
      approval_type: "AD_HOC",
      ...(approval.approver_user_id !== null && { org_user: toPersonRecord(view, approval.approver_user_id) }),
      sent_for_approval: isSent,
      ...(isSent && { last_sent_at: toIsoSeconds(findSentTime(approval, contract)) }),
      notes: approval.notes,
      created_by_org_user: toPersonRecord(view, approval.created_by),
      status: approval.status,
    },
    approval_actions: approval.actions.map(({ status, notes, at }, index) => ({
      status,
      ...(notes !== null && { notes }),
      created: toIsoSeconds(at),
      latest: index === approval.actions.length - 1,
    })),
  };
}

/** An approval is sent when it is created, or when the last one of an earlier order is completed. */
const findSentTime = ({ created_at, order }: ContractApproval, { approvals }: Contract): number =>
  approvals
    .filter((each) => order !== null && each.order !== null && each.order < order)
    .flatMap(({ actions }) => actions)
    .reduce((latest, { at }) => Math.max(latest, at), created_at);

function toPersonRecord(view: View, userId: number) {
  const { id, name, email } = toOrgUser(view, userId);
  return { id, name, email };
}

/** Requests the approvals without an order, and those of the first open order. */
function requestDueApprovals(approvals: readonly ContractApproval[]): ContractApproval[] {
  const firstOrder = approvals.reduce(
    (min, each) => (isOpenApproval(each) && each.order !== null ? Math.min(min, each.order) : min),
    Number.POSITIVE_INFINITY,
  );
  return approvals.map((approval) => {
    const hasTurn = approval.order === null || approval.order === firstOrder;
    return approval.status === "NOT_STARTED" && hasTurn ? { ...approval, status: "PENDING" } : approval;
  });
}

/**
 * Without `approval`, this approves the approver's first open approval, or else the first pending approval. The
 * lifecycle is checked first, because the transition depends on whether this is the last approval.
 */
export function recordApproval(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  act: {
    readonly approval?: number | undefined;
    readonly approver?: number | undefined;
    readonly performer: Performer;
    readonly note?: string | undefined;
  },
  fail: Fail<RejectionCode<"approve">>,
): Contract {
  const open = contract.approvals.filter(isOpenApproval);
  const match =
    open.find(({ id }) => id === act.approval) ??
    open.find(({ approver_user_id }) => act.approver !== undefined && approver_user_id === act.approver);
  const approval = match ?? open.find(({ status }) => status === "PENDING") ?? open[0];
  const action = { status: "APPROVED" as const, notes: act.note ?? null, at: context.clock.now() };
  const markApproved = (each: ContractApproval): ContractApproval =>
    each.id === approval?.id ? { ...each, status: "APPROVED", actions: [...each.actions, action] } : each;
  const patch = (row: Contract) => ({ ...row, approvals: requestDueApprovals(row.approvals.map(markApproved)) });
  return transitionContract(tx, context, contract, "approve", { performer: act.performer, patch }, fail);
}
