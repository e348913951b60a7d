import * as z from "zod";
import { defineRows, storedDeadline, storedTime, type Transaction, type View } from "../../store/port.ts";
import { mappingTables } from "../mapping/tables.ts";

/** A device authorization, from the request for its codes to its tokens (RFC 8628; DECISIONS.md, R30). */
export const DeviceGrant = z.strictObject({
  device_code: z.string(),
  /** Code in upper case without punctuation. */
  user_code: z.string(),
  client_id: z.string(),
  status: z.enum(["PENDING", "AUTHORIZED", "DENIED"]),
  /** Cluster of the user who decides or has decided. Null until a user opens the page. */
  cluster_id: z.string().nullable(),
  /** Virtual milliseconds. */
  expires_at: storedDeadline(z.int()),
  /** Interval in seconds. Each early poll adds 5 seconds permanently. */
  interval: z.int(),
  /** Times in virtual and wall-clock milliseconds. */
  last_poll: z.strictObject({ at: storedTime(z.int()), wall_at: storedTime(z.int()) }).nullable(),
  /** True while the cluster is issuing the tokens. */
  claimed: z.boolean(),
  /** True if the tokens were returned. */
  redeemed: z.boolean(),
});
export type DeviceGrant = z.infer<typeof DeviceGrant>;

export const deviceGrants = defineRows<DeviceGrant, "user_code" | "expires_at" | "claimed">({
  name: "device_grants",
  schema: DeviceGrant,
  key: (row) => row.device_code,
  indexes: {
    user_code: (row) => row.user_code,
    expires_at: (row) => row.expires_at,
    claimed: (row) => (row.claimed ? 1 : undefined),
  },
});

/** Returns the grant with a user code in any notation. */
export function findGrantByUserCode(view: View, userCode: string): DeviceGrant | undefined {
  const [grant] = view.list(deviceGrants, { by: "user_code", equals: toUserCodeKey(userCode), limit: 1 });
  return grant;
}

/** Reason why a device cannot be approved or denied. `bound` means that only another cluster can decide. */
export type DecisionRejection = "unknown" | "expired" | "decided" | "bound";

/**
 * Decides a user code and maps the code to the deciding cluster. PENDING binds a pending grant to a cluster, and then
 * only this cluster can decide. Repeating a decision changes nothing (DECISIONS.md, R30).
 */
export function decideGrant(
  tx: Transaction,
  now: number,
  userCode: string,
  { status, cluster_id }: { readonly status: DeviceGrant["status"]; readonly cluster_id: string },
): DeviceGrant | DecisionRejection {
  const grant = findGrantByUserCode(tx, userCode);
  if (!grant) return "unknown";
  if (grant.expires_at <= now) return "expired";
  if (grant.status !== "PENDING") {
    return grant.status === status && grant.cluster_id === cluster_id ? grant : "decided";
  }
  if (grant.cluster_id !== null && grant.cluster_id !== cluster_id) return "bound";
  const decidedGrant = { ...grant, status, cluster_id };
  tx.put(deviceGrants, decidedGrant);
  tx.map(mappingTables.user_codes, cluster_id, [grant.user_code]);
  return decidedGrant;
}

/** Deletes the grants with these user codes that are bound to the cluster (DECISIONS.md, R10). */
export function removeGrants(tx: Transaction, cluster: string, userCodes: readonly string[]): void {
  for (const code of userCodes) {
    const grant = findGrantByUserCode(tx, code);
    if (grant?.cluster_id === cluster) tx.delete(deviceGrants, grant.device_code);
  }
}

/** Time for which an expired grant is reported as expired instead of unknown. */
const expiredGrantRetentionMs = 24 * 60 * 60 * 1_000;

/** Maximum number of stored grants, because virtual time can stop and then nothing expires. */
const maxGrants = 100_000;

/** Deletes grants that expired long ago, and the oldest grants above the limit. */
export function purgeGrants(tx: Transaction, now: number): void {
  const expiredGrants = tx.list(deviceGrants, { by: "expires_at", to: now - expiredGrantRetentionMs });
  const excess = tx.count(deviceGrants) - expiredGrants.length - maxGrants;
  const oldestGrants = excess > 0 ? tx.list(deviceGrants, { limit: excess }) : [];
  for (const grant of [...expiredGrants, ...oldestGrants.filter(({ claimed }) => !claimed)]) {
    tx.delete(deviceGrants, grant.device_code);
    if (grant.cluster_id !== null) tx.unmap(mappingTables.user_codes, grant.cluster_id, [grant.user_code]);
  }
}

/** Users type codes in any case, with or without punctuation (RFC 8628, 6.1; DECISIONS.md, R30). */
export const toUserCodeKey = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, "");

/** Formats a user code for devices: `WDJB-MJHT`. */
export function formatUserCode(code: string): string {
  const key = toUserCodeKey(code);
  return `${key.slice(0, 4)}-${key.slice(4)}`;
}
