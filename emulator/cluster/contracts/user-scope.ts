import type * as z from "zod";
import type { userScoping } from "../../../src/api/contracts/shapes/records.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { addressKey } from "../../../src/schemes/email-hash.ts";
import type { View } from "../../store/port.ts";
import type { User } from "../../world/workspaces.ts";
import type { Member } from "../world.ts";
import { accessOf } from "./access.ts";
import { type Contract, requireContract } from "./rows.ts";

interface Named {
  readonly params: { readonly composite_id: string };
  readonly headers: z.output<typeof userScoping>;
}

/** The contract of a composite id; `not-found` also when the caller asks to be held to what the user may see. */
export async function requireInScope(
  view: View,
  caller: Member,
  { params, headers }: Named,
  fail: Fail<"not-found">,
): Promise<Contract> {
  const row = await requireContract(view, caller, params.composite_id, fail);
  const scoped = headers["enforce-user-scoping"]?.trim().toLowerCase() === "true";
  return scoped && !(await concerns(view, row, caller.user)) ? fail("not-found") : row;
}

/** Whom a contract concerns is not public: here everybody who has something to do with it. */
const concerns = async (view: View, row: Contract, user: User): Promise<boolean> =>
  row.created_by === user.id ||
  row.business_user_id === user.id ||
  row.reviews.some((each) => isFor(user, each.reviewer_user_id, each.reviewer_role_id)) ||
  row.approvals.some((each) => isFor(user, each.approver_user_id, each.approver_role_id)) ||
  row.signatories.some((each) => addressKey(each.email) === addressKey(user.email)) ||
  (await accessOf(view, row)).some((each) => isFor(user, each.user_id, each.role_id));

/** Whether something is this user's, by themselves or by a role of theirs. */
const isFor = ({ id, roles }: User, userId: number | null, roleId: number | null): boolean =>
  userId === id || (roleId !== null && roles.includes(roleId));
