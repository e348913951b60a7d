import type * as z from "zod";
import type { userScoping } from "../../../src/api/contracts/shapes/records.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { View } from "../../store/port.ts";
import type { User } from "../../world/workspaces.ts";
import type { Member } from "../world.ts";
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
  return scoped && !concerns(row, caller.user) ? fail("not-found") : row;
}

/** Whom a contract concerns is not public: here everybody who has something to do with it. */
const concerns = (row: Contract, { id, email, roles }: User): boolean =>
  row.created_by === id ||
  row.business_user_id === id ||
  row.reviews.some((each) => each.reviewer_user_id === id || roles.includes(each.reviewer_role_id ?? 0)) ||
  row.approvals.some((each) => each.approver_user_id === id || roles.includes(each.approver_role_id ?? 0)) ||
  row.signatories.some((each) => each.email.toLowerCase() === email.toLowerCase());
