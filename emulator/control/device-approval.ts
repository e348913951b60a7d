import { deviceApprovals } from "../cluster/identity/grants.ts";
import { userOfEmail } from "../cluster/identity/people.ts";
import { type DeviceGrant, decideGrant, grantOfUserCode, type Undecidable } from "../router/device/rows.ts";
import type { Transaction } from "../store/port.ts";
import type { User } from "../world/workspaces.ts";
import type { ControlWorld } from "./world.ts";

/** What a person says about the device that shows a user code. */
export interface DeviceDecision {
  readonly user_code: string;
  readonly status: "AUTHORIZED" | "DENIED";
  readonly cluster_id?: string | undefined;
  readonly email?: string | undefined;
}

export type Unapproved = Undecidable | "no-cluster" | "no-person";

/**
 * Decides about a user code as the operation of the clusters does, and remembers who it was, so that the tokens are
 * for them.
 */
export async function approve(
  tx: Transaction,
  { clusters, clock }: Pick<ControlWorld, "clusters" | "clock">,
  { user_code, status, cluster_id, email }: DeviceDecision,
): Promise<DeviceGrant | Unapproved> {
  const bound = (await grantOfUserCode(tx, user_code))?.cluster_id ?? undefined;
  const wanted = cluster_id ?? bound;
  const candidates = clusters.filter(({ id }) => (wanted ?? id) === id);
  if (candidates.length === 0) return "no-cluster";
  const found = email === undefined ? { cluster: candidates[0]! } : await personAt(tx, candidates, email);
  if (!found) return "no-person";

  const decided = await decideGrant(tx, clock.now(), user_code, { status, cluster_id: found.cluster.id });
  if (typeof decided !== "string" && found.user && status === "AUTHORIZED" && !decided.redeemed) {
    tx.put(deviceApprovals, { device_code: decided.device_code, user_id: found.user.id });
  }
  return decided;
}

async function personAt(
  tx: Transaction,
  clusters: ControlWorld["clusters"],
  email: string,
): Promise<{ readonly cluster: ControlWorld["clusters"][number]; readonly user?: User } | undefined> {
  for (const cluster of clusters) {
    const user = await userOfEmail(tx, cluster.id, email);
    if (user) return { cluster, user };
  }
  return undefined;
}
