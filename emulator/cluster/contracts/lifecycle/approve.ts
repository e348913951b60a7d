import type { RefusalOf } from "../../../../src/api/contracts/lifecycle.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import type { Transaction } from "../../../store/port.ts";
import type { Person } from "../../../webhooks/payload.ts";
import type { Approval, Contract } from "../rows.ts";
import { withTurnsToApprove } from "./approval-order.ts";
import { type LifecycleWorld, transition } from "./transition.ts";

/**
 * Approves that approval, or the next pending one: the first of that approver, or the first of all. The lifecycle table decides
 * before the approval is marked, since it asks whether this one is the last.
 */
export async function approve(
  tx: Transaction,
  world: LifecycleWorld,
  contract: Contract,
  act: {
    readonly approval?: number | undefined;
    readonly approver?: number | undefined;
    readonly by: Person;
    readonly note?: string | undefined;
  },
  fail: Fail<RefusalOf<"approve">>,
): Promise<Contract> {
  const open = contract.approvals.filter(({ status }) => status === "PENDING" || status === "NOT_STARTED");
  const chosen =
    open.find(({ id }) => id === act.approval) ??
    open.find(({ approver_user_id }) => act.approver !== undefined && approver_user_id === act.approver);
  const approval = chosen ?? open.find(({ status }) => status === "PENDING") ?? open[0];
  const action = { status: "APPROVED" as const, notes: act.note ?? null, at: world.clock.now() };
  const mark = (each: Approval): Approval =>
    each.id === approval?.id ? { ...each, status: "APPROVED", actions: [...each.actions, action] } : each;
  return transition(
    tx,
    world,
    contract,
    "approve",
    { by: act.by, patch: (row) => ({ ...row, approvals: withTurnsToApprove(row.approvals.map(mark)) }) },
    fail,
  );
}
