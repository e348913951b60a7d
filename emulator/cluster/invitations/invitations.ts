import * as z from "zod";
import { addressKey } from "../../../src/schemes/email-hash.ts";
import { rows, type Transaction } from "../../store/port.ts";
import { storedTime } from "../../store/stored-time.ts";
import { invitationKinds, type User, users } from "../../world/workspaces.ts";

import { scheduleReport } from "../reports/report.ts";

/** A token that a cluster issued to one person, and what became of the invitation (DECISIONS.md, R34). */
const Invitation = z.strictObject({
  token: z.string(),
  kind: z.enum(invitationKinds),
  cluster_id: z.string(),
  workspace_id: z.int(),
  /** The member who is inactive until it is accepted; null for a counterparty. */
  user_id: z.int().nullable(),
  /** Null for a member. */
  contract_id: z.int().nullable(),
  email: z.string(),
  name: z.string(),
  /** ENDED: the contract is executed, voided or deleted. */
  state: z.enum(["PENDING", "ACCEPTED", "ENDED"]),
  /** Virtual milliseconds. */
  issued_at: storedTime(z.number()),
});
export type Invitation = z.infer<typeof Invitation>;

export const invitations = rows<Invitation, "open" | "user" | "contract" | "email" | "workspace">({
  name: "invitations",
  schema: Invitation,
  key: (row) => row.token,
  indexes: {
    /** Those that are pending, by workspace. */
    open: (row) => (row.state === "PENDING" ? row.workspace_id : undefined),
    user: (row) => row.user_id ?? undefined,
    contract: (row) => row.contract_id ?? undefined,
    email: (row) => addressKey(row.email),
    workspace: (row) => row.workspace_id,
  },
});

/** A member accepts the invitation: from here on they are active. Undefined for an invitation of a counterparty. */
export async function acceptInvitation(tx: Transaction, invitation: Invitation, at: number): Promise<User | undefined> {
  const user = invitation.user_id === null ? undefined : await tx.get(users, invitation.user_id);
  if (!user) return undefined;
  const member = { ...user, is_active: true };
  tx.put(users, member);
  tx.put(invitations, { ...invitation, state: "ACCEPTED" });
  scheduleReport(tx, "report-member", member.id, at);
  return member;
}
