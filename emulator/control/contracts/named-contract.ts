import type { Fail } from "../../../src/api/failures.ts";
import { type Contract, compositeId, contracts } from "../../cluster/contracts/rows.ts";
import { memberNamed } from "../../cluster/workspace/person-ids.ts";
import type { View } from "../../store/port.ts";
import type { Person } from "../../webhooks/payload.ts";
import { users } from "../../world/workspaces.ts";

/** The contract of a number or of a composite id, whichever workspace it belongs to (DECISIONS.md, C12). */
export async function namedContract(view: View, id: string, fail: Fail<"no-such-contract">): Promise<Contract> {
  const number = /^(?:[TH]-)?([1-9]\d*)$/.exec(id)?.[1];
  const row = number === undefined ? undefined : await view.get(contracts, number);
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
    const owner = await view.get(users, String(contract.business_user_id));
    return owner ? { name: owner.name, email: owner.email } : { name: "" };
  }
  const member = await memberNamed(view, contract.workspace_id, email);
  return member ? { name: member.name, email: member.email, userId: member.id } : { name: email, email };
}
