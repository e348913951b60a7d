import type { RejectionCode, Trigger } from "../../../src/api/contracts/lifecycle.ts";
import type { Fail, FailureCode } from "../../../src/api/failures.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { listAccess } from "../../cluster/contracts/access.ts";
import { recordApproval, requestApprovals } from "../../cluster/contracts/lifecycle/approvals.ts";
import { recordDecline, recordSignature, requestReview } from "../../cluster/contracts/lifecycle/execution.ts";
import { transitionContract } from "../../cluster/contracts/lifecycle/transition.ts";
import { isContractEditable, replaceEntity } from "../../cluster/contracts/parties.ts";
import {
  type Contract,
  type ContractReview,
  contracts,
  formatCompositeId,
  readCompositeId,
} from "../../cluster/contracts/rows.ts";
import {
  filterActionsFor,
  listParticipants,
  listPendingActions,
  type PendingAction,
} from "../../cluster/recipient-pages/page-model.ts";
import { findMemberByEmail } from "../../cluster/workspace/workspace-rows.ts";
import { entities, roles, type User, users } from "../../domain/workspaces.ts";
import { type HandlerCall, inTransaction } from "../../http/handler.ts";
import type { Transaction, View } from "../../store/port.ts";
import type { Performer } from "../../webhooks/emit.ts";
import { type ControlContext, type ControlHandlers, createListHandler } from "../context.ts";

type MoveCall<Code extends FailureCode = never> = ControlContext & HandlerCall<Code | "no-such-contract", unknown>;

interface MoveInput {
  readonly params: { readonly id: string };
  readonly body: { readonly email?: string | undefined; readonly note?: string | undefined };
}

/** Actions of users and of the API with a workspace key, which follow the lifecycle table (DECISIONS.md, E7). */
export const controlContractHandlers = {
  "emulator-contracts.sign": createMoveHandler((tx, contract, body, call) =>
    recordSignature(tx, call, contract, body, call.fail),
  ),

  "emulator-contracts.decline": createMoveHandler((tx, contract, body, call) =>
    recordDecline(tx, call, contract, body, call.fail),
  ),

  "emulator-contracts.approve": createMoveHandler((tx, contract, { email, note }, call) => {
    const { performer, approval, approver } = findPersonInTurn(tx, contract, "approve", email);
    return recordApproval(tx, call, contract, { approval, approver, performer, note }, call.fail);
  }),

  "emulator-contracts.complete-review": createMoveHandler((tx, contract, { email }, call) => {
    const { performer } = findPersonInTurn(tx, contract, "review", email);
    return transitionContract(tx, call, contract, "complete-review", { performer }, call.fail);
  }),

  "emulator-contracts.request-review": createMoveHandler((tx, contract, { email }, call) => {
    const { id } = requireMember(tx, contract, email, call.fail);
    const performer = resolvePerformer(tx, contract, undefined);
    const reviewer = { reviewer_user_id: id, reviewer_role_id: null, description: "" };
    return requestReview(tx, call, contract, { by: performer, reviewer }, call.fail);
  }),

  "emulator-contracts.request-approval": createMoveHandler((tx, contract, { email }, call) => {
    const { id, name } = requireMember(tx, contract, email, call.fail);
    const performer = resolvePerformer(tx, contract, undefined);
    const request = { name, notes: "", approver_user_id: id };
    const created_by = contract.business_user_id;
    return requestApprovals(tx, call, contract, { performer, created_by, requests: [request] }, call.fail);
  }),

  "emulator-contracts.send": createTriggerHandler("send"),
  "emulator-contracts.mark": createTriggerHandler("mark-for-execution"),
  "emulator-contracts.unmark": createTriggerHandler("unmark-for-execution"),
  "emulator-contracts.void": createTriggerHandler("void"),
  "emulator-contracts.hold": createTriggerHandler("hold"),
  "emulator-contracts.resume": createTriggerHandler("resume"),
  "emulator-contracts.delete": createTriggerHandler("delete"),
} satisfies ControlHandlers;

function createMoveHandler<Call extends MoveCall>(
  move: (tx: Transaction, contract: Contract, body: MoveInput["body"], call: Call) => Contract,
) {
  return inTransaction((tx, { params, body }: MoveInput, call: Call) =>
    toContractSummary(move(tx, requireContractById(tx, params.id, call.fail), body, call)),
  );
}

function createTriggerHandler<T extends Trigger>(trigger: T) {
  return createMoveHandler((tx, contract, { email }, call: MoveCall<RejectionCode<T>>) => {
    const performer = resolvePerformer(tx, contract, email);
    return transitionContract(tx, call, contract, trigger, { performer }, call.fail);
  });
}

const toContractSummary = (row: Contract) => ({
  contract_id: row.id,
  composite_id: formatCompositeId(row),
  contract_status: row.status,
  contract_name: row.name,
});

/** Returns the contract with a plain or composite ID, in any workspace (DECISIONS.md, C12). */
export function requireContractById(view: View, id: string, fail: Fail<"no-such-contract">): Contract {
  const number = /^(?:[TH]-)?([1-9]\d*)$/.exec(id)?.[1];
  const row = number === undefined ? undefined : view.get(contracts, Number(number));
  const isMatch = row && (id === number || id === formatCompositeId(row));
  return isMatch && row.deleted_at === null ? row : fail("no-such-contract", { id });
}

/** Returns the number of the contract that a filter names. With a wrong prefix this is 0, which no contract has. */
export function readContractFilter(view: View, id: string | undefined): number | undefined {
  if (id === undefined) return undefined;
  const number = Number(id.replace(/^[TH]-/, ""));
  return [String(number), readCompositeId(view, number) ?? id].includes(id) ? number : 0;
}

/** A person who is not a member has only an address. The default is the contract's owner. */
function resolvePerformer(view: View, contract: Contract, email: string | undefined): Performer {
  const user = findNamedMember(view, contract, email);
  if (user) return { name: user.name, email: user.email };
  return email === undefined ? { name: "" } : { name: email, email };
}

const findNamedMember = (view: View, { business_user_id, workspace_id }: Contract, email: string | undefined) =>
  email === undefined ? view.get(users, business_user_id) : findMemberByEmail(view, workspace_id, email);

function requireMember(view: View, contract: Contract, email: string | undefined, fail: Fail<"no-such-member">): User {
  const member = findNamedMember(view, contract, email);
  return member?.is_active ? member : fail("no-such-member", { email: email ?? "" });
}

/**
 * Returns the named user, the first person with a pending action, or the contract's owner. `approver` is the ID of a
 * named member who is not the next approver.
 */
function findPersonInTurn(
  view: View,
  contract: Contract,
  work: PendingAction["work"],
  email: string | undefined,
): { readonly performer: Performer; readonly approval?: number; readonly approver?: number | undefined } {
  const pendingActions = listPendingActions(view, contract);
  const pendingAction = (email === undefined ? pendingActions : filterActionsFor(pendingActions, email)).find(
    (each) => each.work === work,
  );
  if (pendingAction) {
    const performer = { name: pendingAction.name, email: pendingAction.email };
    return pendingAction.work === "approve" ? { performer, approval: pendingAction.approval } : { performer };
  }
  const member = email === undefined ? undefined : findMemberByEmail(view, contract.workspace_id, email);
  return { performer: resolvePerformer(view, contract, email), approver: member?.id };
}

export const controlContractDetailHandlers = {
  "emulator-contracts.list": createListHandler(contracts, (row) => ({
    ...toContractSummary(row),
    cluster_id: row.cluster_id,
    workspace_id: row.workspace_id,
    created_at: toIsoMillis(row.created_at),
    updated_at: toIsoMillis(row.updated_at),
    deleted_at: row.deleted_at === null ? null : toIsoMillis(row.deleted_at),
  })),

  "emulator-contracts.show": ({ params }, { store, clusters, fail }) => {
    const row = requireContractById(store, params.id, fail);
    const entity = row.entity_id === null ? undefined : store.get(entities, row.entity_id);
    const { url } = clusters.find(({ id }) => id === row.cluster_id)!;
    const participants = listParticipants(store, row);
    return {
      ...toContractSummary(row),
      workspace_id: row.workspace_id,
      entity: entity ? { reference_id: entity.reference_id, name: entity.name } : null,
      counterparties: row.counterparties.map(({ poc: _, ...party }) => party),
      reviews: row.reviews.map((review) => toReviewRecord(store, review)),
      access: listAccessRecords(store, row),
      people: participants.map(({ path, signedAt, ...person }) => ({
        ...person,
        link: `${url}${path}`,
        signed_at: signedAt === null ? null : toIsoMillis(signedAt),
      })),
    };
  },

  "emulator-contracts.entity": inTransaction((tx, { params, body: { reference_id, email } }, { clock, fail }) => {
    const row = requireContractById(tx, params.id, fail);
    const workspaceEntities = tx.list(entities, { by: "workspace", equals: row.workspace_id });
    const knownIds = workspaceEntities.map((each) => each.reference_id).join(", ");
    const entity = workspaceEntities.find((each) => each.reference_id === reference_id);
    if (!entity) return fail("no-such-entity", { reference_id, known: knownIds });
    if (!isContractEditable(row)) return fail("entity-not-editable", { status: row.status });
    const performer = resolvePerformer(tx, row, email);
    return toContractSummary(replaceEntity(tx, { clock, performer }, row, entity));
  }),
} satisfies ControlHandlers;

function toReviewRecord(view: View, review: ContractReview) {
  const { by, reviewer_user_id, reviewer_role_id, description, requested_at, completed_at } = review;
  return {
    by,
    ...findNames(view, reviewer_user_id, reviewer_role_id),
    description,
    requested_at: toIsoMillis(requested_at),
    completed_at: completed_at === null ? null : toIsoMillis(completed_at),
  };
}

const listAccessRecords = (view: View, row: Contract) =>
  listAccess(view, row).map(({ user_id, role_id, permission_name, note, invited_at }) => ({
    ...findNames(view, user_id, role_id),
    permission_name,
    note,
    invited_at: toIsoMillis(invited_at),
  }));

function findNames(view: View, userId: number | null, roleId: number | null) {
  const user = userId === null ? undefined : view.get(users, userId);
  const role = roleId === null ? undefined : view.get(roles, roleId);
  return {
    user: user ? { id: user.id, name: user.name, email: user.email } : null,
    role: role ? { id: role.id, name: role.name } : null,
  };
}
