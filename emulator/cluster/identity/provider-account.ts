import { addressKey } from "../../../src/schemes/email-hash.ts";
import type { Transaction } from "../../store/port.ts";
import { type User, users } from "../../world/workspaces.ts";
import { acceptInvitation } from "../invitations/accept.ts";
import { invitations } from "../invitations/rows.ts";
import { report } from "../reports/report.ts";
import { addWorkspace } from "../workspace/new-workspace.ts";
import type { ClusterWorld } from "../world.ts";

/** Whom a provider vouches for. */
interface Person {
  readonly email: string;
  readonly name: string;
}

/**
 * The account of somebody who signs up with a provider and has none at this cluster: that of an open invitation, which
 * this accepts, else the owner of a workspace of their own (DECISIONS.md, R25). Undefined: another cluster has them.
 */
export async function accountFor(
  tx: Transaction,
  world: ClusterWorld,
  { email, name }: Person,
): Promise<User | undefined> {
  const at = world.clock.now();
  const known = await tx.list(users, { by: "email", equals: addressKey(email) });
  for (const { id } of known) {
    const [open] = (await tx.list(invitations, { by: "user", equals: id })).filter(({ state }) => state === "PENDING");
    if (open?.cluster_id === world.cluster.id) return acceptInvitation(tx, open, at);
  }
  if (known.length > 0) return undefined;
  const owner = { name: name.trim() || email.trim(), email: email.trim(), designation: null };
  const founding = { name: `Workspace of ${owner.name}`, industry: null, use_case: null, owner };
  const { acting_user_id } = await addWorkspace(tx, world, founding);
  report(tx, "report-member", acting_user_id, at);
  return tx.get(users, acting_user_id);
}
