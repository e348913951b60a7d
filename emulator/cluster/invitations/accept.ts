import type { Transaction } from "../../store/port.ts";
import { type User, users } from "../../world/workspaces.ts";
import { report } from "../reports/report.ts";
import { type Invitation, invitations } from "./rows.ts";

/** A member accepts the invitation: from here on they are active. Undefined for an invitation of a counterparty. */
export async function acceptInvitation(tx: Transaction, invitation: Invitation, at: number): Promise<User | undefined> {
  const user = invitation.user_id === null ? undefined : await tx.get(users, invitation.user_id);
  if (!user) return undefined;
  const member = { ...user, is_active: true };
  tx.put(users, member);
  tx.put(invitations, { ...invitation, state: "ACCEPTED" });
  report(tx, "report-member", member.id, at);
  return member;
}
