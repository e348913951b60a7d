import type { Transaction } from "../../store/port.ts";
import { sendEmail } from "../../world/emails.ts";
import { users, type Workspace } from "../../world/workspaces.ts";
import { nextPersonId } from "../workspace/person-ids.ts";
import type { ClusterWorld } from "../world.ts";
import { type Invitation, invitations } from "./rows.ts";

/**
 * Makes somebody a member of a workspace, inactive until they accept the invitation that is sent to them
 * (DECISIONS.md, R24).
 */
export async function inviteMember(
  tx: Transaction,
  { clock, ids }: Pick<ClusterWorld, "clock" | "ids">,
  { id: workspace_id, cluster_id }: Workspace,
  { email, name }: Pick<Invitation, "email" | "name">,
): Promise<Invitation & { readonly user_id: number }> {
  const issued_at = clock.now();
  const token = `creator-${ids.token(12)}`;
  const user_id = await nextPersonId(tx);
  tx.put(users, { id: user_id, workspace_id, name, email, designation: null, is_active: false, roles: [] });
  const kind = "creator" as const;
  const of = { cluster_id, workspace_id };
  const row = { token, kind, ...of, user_id, contract_id: null, email, name, state: "PENDING" as const, issued_at };
  tx.put(invitations, row);
  const path = `/auth/v3/invite_info/?${new URLSearchParams({ token })}`;
  sendEmail(tx, { ...of, purpose: "invitation", recipient: email, path, token, sent_at: issued_at });
  return row;
}
