import type { ReceivedRequest } from "../../http/handler.ts";
import type { Transaction, View } from "../../store/port.ts";
import { sessionCookie, sessionIn } from "../../world/session-cookie.ts";
import type { User } from "../../world/workspaces.ts";
import type { ClusterWorld } from "../world.ts";
import { type Session, sessions } from "./grants.ts";
import { userOfId } from "./people.ts";

const lifetimeMs = 12 * 60 * 60 * 1_000;

/** Who signed in at this cluster with this browser before. */
export async function sessionOf(
  view: View,
  { headers }: Pick<ReceivedRequest, "headers">,
  { cluster, clock }: Pick<ClusterWorld, "cluster" | "clock">,
): Promise<{ readonly user: User; readonly session: Session } | undefined> {
  const value = sessionIn(headers);
  const prefix = `${cluster.id}_`;
  const session = value?.startsWith(prefix) ? await view.get(sessions, value.slice(prefix.length)) : undefined;
  if (session?.cluster_id !== cluster.id || session.expires_at <= clock.now()) return undefined;
  const user = await userOfId(view, cluster.id, session.user_id);
  return user && { user, session };
}

/** Begins a session; gives the header that sets its cookie. */
export async function beginSession(
  tx: Transaction,
  { cluster, clock, ids, settings }: Pick<ClusterWorld, "cluster" | "clock" | "ids" | "settings">,
  user: User,
): Promise<{ readonly "set-cookie": string }> {
  const now = clock.now();
  for (const old of await tx.list(sessions, { by: "expires_at", to: now })) tx.delete(sessions, old.id);
  const id = ids.token(24);
  tx.put(sessions, {
    id,
    cluster_id: cluster.id,
    user_id: user.id,
    signed_in_at: now,
    expires_at: now + lifetimeMs,
  });
  // A proxy in front may have the router below a path.
  const path = new URL(`${settings.publicUrl}/api/v1/oauth/`).pathname;
  const attributes = `Path=${path}; Max-Age=${lifetimeMs / 1_000}; HttpOnly; SameSite=Lax`;
  return { "set-cookie": sessionCookie(`${cluster.id}_${id}`, attributes) };
}
