import type { Fail } from "../../../src/api/failures.ts";
import { type Contract, compositeId, contracts } from "../../cluster/contracts/rows.ts";
import { type Turn, turnsOf, turnsWith } from "../../cluster/recipient-pages/turns.ts";
import { memberNamed } from "../../cluster/workspace/person-ids.ts";
import type { View } from "../../store/port.ts";
import type { Person } from "../../webhooks/payload.ts";
import { users } from "../../world/workspaces.ts";

/** The contract of a number or of a composite id, whichever workspace it belongs to (DECISIONS.md, C12). */
export async function namedContract(view: View, id: string, fail: Fail<"no-such-contract">): Promise<Contract> {
  const number = /^(?:[TH]-)?([1-9]\d*)$/.exec(id)?.[1];
  const row = number === undefined ? undefined : await view.get(contracts, Number(number));
  const named = row && (id === number || id === compositeId(row));
  return named && row.deleted_at === null ? row : fail("no-such-contract", { id });
}

/** The member of the contract's workspace with that address, or a person who has nothing but it. */
export async function personNamed(
  view: View,
  contract: Contract,
  email: string | undefined,
): Promise<Person & { readonly userId?: number }> {
  if (email === undefined) {
    const owner = await view.get(users, contract.business_user_id);
    return owner ? { name: owner.name, email: owner.email } : { name: "" };
  }
  const member = await memberNamed(view, contract.workspace_id, email);
  return member ? { name: member.name, email: member.email, userId: member.id } : { name: email, email };
}

/** Who reviews or approves, and which approval it is. */
export interface PersonInTurn {
  readonly by: Person;
  readonly approval?: number;
  /** The member that was named, though it is not their turn. */
  readonly approver?: number | undefined;
}

/** Whoever is named; where nobody is, the first of those whose turn it is, else the contract's owner. */
export async function personInTurn(
  view: View,
  contract: Contract,
  work: Turn["work"],
  email: string | undefined,
): Promise<PersonInTurn> {
  const turns = await turnsOf(view, contract);
  const turn = (email === undefined ? turns : turnsWith(turns, email)).find((each) => each.work === work);
  if (turn) {
    const by = { name: turn.name, email: turn.email };
    return turn.work === "approve" ? { by, approval: turn.approval } : { by };
  }
  const { userId: approver, ...by } = await personNamed(view, contract, email);
  return { by, approver };
}
