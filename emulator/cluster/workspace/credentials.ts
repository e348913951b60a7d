import { type Fail, fail } from "../../../src/api/failures.ts";
import type { WallClock } from "../../../src/base/clock.ts";
import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { type User, users, type Workspace, workspaces } from "../../domain/workspaces.ts";
import type { Authenticator, ReceivedRequest } from "../../http/handler.ts";
import type { View } from "../../store/port.ts";
import type { AuthenticatedMember, ClusterContext } from "../context.ts";
import { findActiveUserByEmail } from "./workspace-rows.ts";

type Headers = ReceivedRequest["headers"];

/** Each listener has one authenticator with its own rate limit (DECISIONS.md, C2 and C4). */
export function createApiKeyAuthenticator(
  context: Pick<ClusterContext, "store" | "settings" | "cluster" | "wall">,
): Authenticator<ClusterContext, AuthenticatedMember> {
  const checkRateLimit = createRateLimit(context.settings.rateLimit, context.wall);
  return ({ headers }, { logEntry, isRepeated }) => {
    const workspace = authenticateWorkspace(context.store, context.cluster.id, headers);
    // The log line names the workspace even if the user is rejected.
    logEntry.workspaceId = workspace.id;
    const user = getUser(context.store, workspace, headers["user-email"]);
    if (workspace.is_suspended) fail("workspace-suspended");
    if (!isRepeated) checkRateLimit(workspace.id, fail);
    return { workspace, user };
  };
}

function authenticateWorkspace(view: View, clusterId: string, headers: Headers): Workspace {
  const clientId = headers["client-id"];
  const secret = headers["client-secret"];
  // A bearer token alone is rejected like missing credentials.
  if (!clientId || !secret) return fail("no-credentials");

  const candidates = view.list(workspaces, { by: "client", equals: clientId, limit: 1 });
  // A key is only valid at the cluster of its workspace.
  const workspace = candidates.find((row) => row.cluster_id === clusterId);
  // The secret is compared even if the ID is unknown, so the time does not reveal which IDs exist.
  const isMatch = isEqualInConstantTime(secret, workspace?.client_secret ?? "");
  return workspace && isMatch ? workspace : fail("wrong-credentials");
}

function getUser(view: View, workspace: Workspace, email: string | undefined): User {
  if (email) return findActiveUserByEmail(view, workspace, email) ?? fail("permission-denied");
  const user = view.get(users, workspace.acting_user_id);
  if (!user) throw new Error(`Workspace ${workspace.id} acts as user ${workspace.acting_user_id}, who does not exist`);
  return user;
}

/** Rejects a key without Developer Settings in the seed (DECISIONS.md, F3). */
export function requireDeveloperSettings(
  { workspace }: AuthenticatedMember,
  reject: Fail<"developer-settings-required">,
) {
  if (!workspace.permissions.includes("developer_settings")) reject("developer-settings-required");
}

const rateLimitWindowMs = 1_000;

/**
 * Counts requests per workspace over the last second of the wall clock. A rejected request does not count, and
 * `retry-after` is the time until the oldest request leaves the window, as in the real framework's throttle. A
 * `perSecond` of 0 means no limit.
 */
export function createRateLimit(
  perSecond: number,
  wall: WallClock,
): (workspaceId: number, fail: Fail<"throttled">) => void {
  if (perSecond <= 0) return () => {};
  const requestTimes = new Map<number, number[]>();
  return (workspaceId, fail) => {
    const now = wall.monotonicNow();
    const recent = (requestTimes.get(workspaceId) ?? []).filter((at) => at > now - rateLimitWindowMs);
    requestTimes.set(workspaceId, recent);
    if (recent.length >= perSecond)
      fail("throttled", { seconds: Math.ceil((recent[0]! + rateLimitWindowMs - now) / 1_000) });
    recent.push(now);
  };
}
