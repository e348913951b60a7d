import * as z from "zod";
import type { inviteToContract } from "../../../src/api/contracts/contract-details.ts";
import { contractPermissions, type userScoping } from "../../../src/api/contracts/shapes.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { InputOf } from "../../../src/api/operation.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import type { User } from "../../domain/workspaces.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import { inTransaction } from "../../http/handler.ts";
import { defineRows, storedTime, type Transaction, type View } from "../../store/port.ts";
import type { AuthenticatedMember, ClusterCall, ClusterHandlers } from "../context.ts";
import { inviteMember } from "../invitations/invite.ts";
import { scheduleReport } from "../reports/report.ts";
import { findAssigneeProblem, findMemberByEmail } from "../workspace/workspace-rows.ts";
import { type Contract, requireContract, requireContractByNumber } from "./rows.ts";

/** A permission of a user or of a role on a contract. Exactly one of the two ids is set (DECISIONS.md, C26). */
const Access = z.strictObject({
  contract_id: z.int(),
  user_id: z.int().nullable(),
  role_id: z.int().nullable(),
  permission_name: z.enum(contractPermissions),
  note: z.string().nullable(),
  invited_by: z.int(),
  invited_at: storedTime(z.number()),
});
type Access = z.infer<typeof Access>;

export const contractAccess = defineRows({
  name: "contract_access",
  schema: Access,
  key: ({ contract_id, user_id, role_id }) => `${contract_id} ${user_id === null ? `role ${role_id}` : user_id}`,
  indexes: { contract: (row) => row.contract_id },
});

export const listAccess = (view: View, { id }: Contract): readonly Access[] =>
  view.list(contractAccess, { by: "contract", equals: id });

export const accessHandlers = {
  "contract-details.invite": inTransaction((tx, { params, body: { items } }, context) => {
    const { caller, fail, clock } = context;
    const contract = requireContractByNumber(tx, caller, params.contract_id, fail);
    const problems = findProblems(tx, caller, items);
    if (problems) return fail("invalid-fields", problems);
    for (const { role_id = null, user_id = null, new_user_email, permission_name, note = null } of items) {
      const common = { contract_id: contract.id, permission_name, note, invited_by: caller.user.id };
      const invitee = new_user_email === undefined ? user_id : getMemberByEmail(tx, context, new_user_email);
      tx.put(contractAccess, { ...common, user_id: invitee, role_id, invited_at: clock.now() });
    }
  }),
} satisfies ClusterHandlers;

type Items = InputOf<typeof inviteToContract>["body"]["items"];
const onlyOneInvitee = "Only one of user_id, role_id, new_user_email can be given";

function findProblems(view: View, { workspace }: AuthenticatedMember, items: Items) {
  const problems = new ProblemCollector();
  for (const [index, { user_id, role_id, new_user_email }] of items.entries()) {
    const path = ["items", index] as const;
    if (new_user_email === undefined) {
      problems.addAll(path, findAssigneeProblem(view, workspace, { user_id, role_id }, onlyOneInvitee));
    } else if (user_id !== undefined || role_id !== undefined) {
      const extraField = user_id !== undefined && role_id !== undefined ? "role_id" : "new_user_email";
      problems.add([...path, extraField], onlyOneInvitee);
    }
  }
  return problems.fields;
}

/** An unknown address is invited as a member, and the router gets the invite token. */
function getMemberByEmail(tx: Transaction, context: ClusterCall, email: string): number {
  const { workspace } = context.caller;
  const member = findMemberByEmail(tx, workspace.id, email);
  if (member) return member.id;
  const { user_id, issued_at } = inviteMember(tx, context, workspace, { email, name: email });
  scheduleReport(tx, "report-member", user_id, issued_at);
  return user_id;
}

interface PermissionInput {
  readonly params: { readonly composite_id: string };
  readonly headers: z.output<typeof userScoping>;
}

/** Also rejects with `not-found` if the caller acts for a user who has no access to the contract. */
export function requireVisibleContract(
  view: View,
  caller: AuthenticatedMember,
  { params, headers }: PermissionInput,
  fail: Fail<"not-found">,
): Contract {
  const row = requireContract(view, caller, params.composite_id, fail);
  const isScoped = headers["enforce-user-scoping"]?.trim().toLowerCase() === "true";
  return isScoped && !isInvolved(view, row, caller.user) ? fail("not-found") : row;
}

/** The specification does not define which contracts concern a user. Here, every involvement counts. */
const isInvolved = (view: View, row: Contract, user: User): boolean =>
  row.created_by === user.id ||
  row.business_user_id === user.id ||
  row.reviews.some((each) => isFor(user, each.reviewer_user_id, each.reviewer_role_id)) ||
  row.approvals.some((each) => isFor(user, each.approver_user_id, each.approver_role_id)) ||
  row.signatories.some((each) => toAddressKey(each.email) === toAddressKey(user.email)) ||
  listAccess(view, row).some((each) => isFor(user, each.user_id, each.role_id));

const isFor = ({ id, roles }: User, userId: number | null, roleId: number | null): boolean =>
  userId === id || (roleId !== null && roles.includes(roleId));
