import type { Trigger } from "../../../src/api/contracts/lifecycle.ts";
import type { Fail, FailureCode } from "../../../src/api/failures.ts";
import { approve } from "../../cluster/contracts/lifecycle/approvals.ts";
import { decline, sign } from "../../cluster/contracts/lifecycle/signatures.ts";
import {
  type LifecycleContext,
  type TransitionOptions,
  transition,
} from "../../cluster/contracts/lifecycle/transition.ts";
import { type Contract, contracts, formatCompositeId } from "../../cluster/contracts/rows.ts";
import {
  filterActionsFor,
  listPendingActions,
  type PendingAction,
} from "../../cluster/recipient-pages/pending-actions.ts";
import { findMemberByEmail } from "../../cluster/workspace/users.ts";
import { users } from "../../domain/workspaces.ts";
import type { Call, HandlerContext } from "../../http/handler.ts";
import type { Transaction, View } from "../../store/port.ts";
import type { Performer } from "../../webhooks/emit.ts";
import type { ControlHandlers } from "../context.ts";

type ContractMoveContext = HandlerContext & LifecycleContext;
type ContractVerb = "sign" | "decline" | "complete-review" | "approve" | "void" | "hold" | "resume" | "delete";

interface MoveInput {
  readonly params: { readonly id: string };
  readonly body: { readonly email?: string | undefined; readonly note?: string | undefined };
}

/** Actions of users in the application. Each moves the contract by the lifecycle table (DECISIONS.md, E7). */
export const controlContractHandlers = {
  "emulator-contracts.sign": (input, call) =>
    actAs("sign", input, call, (tx, contract) => sign(tx, call, contract, input.body, call.fail)),

  "emulator-contracts.decline": (input, call) =>
    actAs("decline", input, call, (tx, contract) => decline(tx, call, contract, input.body, call.fail)),

  "emulator-contracts.approve": (input, call) =>
    actAs("approve", input, call, async (tx, contract) => {
      const { by, approval, approver } = await findPersonInTurn(tx, contract, "approve", input.body.email);
      return approve(tx, call, contract, { approval, approver, by, note: input.body.note }, call.fail);
    }),

  "emulator-contracts.complete-review": (input, call) =>
    actAs("complete-review", input, call, async (tx, contract) => {
      const { by } = await findPersonInTurn(tx, contract, "review", input.body.email);
      return transition(tx, call, contract, "complete-review", { by }, call.fail);
    }),
  "emulator-contracts.void": (input, call) =>
    createMoveHandler("void", input, call, (tx, row, options) => transition(tx, call, row, "void", options, call.fail)),
  "emulator-contracts.hold": (input, call) =>
    createMoveHandler("hold", input, call, (tx, row, options) => transition(tx, call, row, "hold", options, call.fail)),
  "emulator-contracts.resume": (input, call) =>
    createMoveHandler("resume", input, call, (tx, row, options) =>
      transition(tx, call, row, "resume", options, call.fail),
    ),
  "emulator-contracts.delete": (input, call) =>
    createMoveHandler("delete", input, call, (tx, row, options) =>
      transition(tx, call, row, "delete", options, call.fail),
    ),
} satisfies ControlHandlers<ContractMoveContext>;

type ControlCall = ContractMoveContext &
  Pick<Call<FailureCode, unknown>, "request"> & { readonly fail: Fail<"no-such-contract"> };

function actAs(
  verb: ContractVerb,
  { params }: MoveInput,
  { store, fail }: ControlCall,
  act: (tx: Transaction, contract: Contract) => Promise<Contract>,
) {
  return store.transaction(`emulator-contracts.${verb}`, async (tx) => {
    const after = await act(tx, await requireContractById(tx, params.id, fail));
    return {
      contract_id: after.id,
      composite_id: formatCompositeId(after),
      contract_status: after.status,
      contract_name: after.name,
    };
  });
}

const createMoveHandler = (
  verb: ContractVerb & Trigger,
  input: MoveInput,
  call: ControlCall,
  move: (tx: Transaction, contract: Contract, options: TransitionOptions) => Promise<Contract>,
) =>
  actAs(verb, input, call, async (tx, contract) => {
    const { userId: _, ...by } = await resolvePerson(tx, contract, input.body.email);
    return move(tx, contract, { by });
  });

/** The contract with a plain or composite id, in any workspace (DECISIONS.md, C12). */
export async function requireContractById(view: View, id: string, fail: Fail<"no-such-contract">): Promise<Contract> {
  const number = /^(?:[TH]-)?([1-9]\d*)$/.exec(id)?.[1];
  const row = number === undefined ? undefined : await view.get(contracts, Number(number));
  const named = row && (id === number || id === formatCompositeId(row));
  return named && row.deleted_at === null ? row : fail("no-such-contract", { id });
}

/** The member of the contract's workspace with that address, or a person with only an address. */
export async function resolvePerson(
  view: View,
  contract: Contract,
  email: string | undefined,
): Promise<Performer & { readonly userId?: number }> {
  if (email === undefined) {
    const owner = await view.get(users, contract.business_user_id);
    return owner ? { name: owner.name, email: owner.email } : { name: "" };
  }
  const member = await findMemberByEmail(view, contract.workspace_id, email);
  return member ? { name: member.name, email: member.email, userId: member.id } : { name: email, email };
}

/** The reviewer or approver, and the approval. */
interface PersonInTurn {
  readonly by: Performer;
  readonly approval?: number;
  /** The named member, although it is not their turn. */
  readonly approver?: number | undefined;
}

/** The named user; otherwise the first one whose turn it is, or the contract's owner. */
async function findPersonInTurn(
  view: View,
  contract: Contract,
  work: PendingAction["work"],
  email: string | undefined,
): Promise<PersonInTurn> {
  const turns = await listPendingActions(view, contract);
  const turn = (email === undefined ? turns : filterActionsFor(turns, email)).find((each) => each.work === work);
  if (turn) {
    const by = { name: turn.name, email: turn.email };
    return turn.work === "approve" ? { by, approval: turn.approval } : { by };
  }
  const { userId: approver, ...by } = await resolvePerson(view, contract, email);
  return { by, approver };
}
