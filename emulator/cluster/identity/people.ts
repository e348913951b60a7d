import { addressKey } from "../../../src/schemes/email-hash.ts";
import type { View } from "../../store/port.ts";
import { firstWorkspace, type User, users, workspaces } from "../../world/workspaces.ts";

/** The active user of a cluster with that address. */
export async function userOfEmail(view: View, clusterId: string, email: string): Promise<User | undefined> {
  for (const user of await view.list(users, { by: "email", equals: addressKey(email) })) {
    if (user.is_active && (await isOf(view, clusterId, user))) return user;
  }
  return undefined;
}

/** The workspaces of a cluster in which that person is active. */
export async function workspacesOfEmail(view: View, clusterId: string, email: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const user of await view.list(users, { by: "email", equals: addressKey(email) })) {
    if (user.is_active && (await isOf(view, clusterId, user))) found.push(user.workspace_id);
  }
  return found;
}

/** The user with that number, if they are still active at the cluster. */
export async function userOfId(view: View, clusterId: string, id: number): Promise<User | undefined> {
  const user = await view.get(users, id);
  return user?.is_active && (await isOf(view, clusterId, user)) ? user : undefined;
}

/** Who stands for a cluster where nobody was named: whom the API key of its first workspace acts as. */
export async function firstUser(view: View, clusterId: string): Promise<User | undefined> {
  const workspace = await firstWorkspace(view, clusterId);
  return workspace && userOfId(view, clusterId, workspace.acting_user_id);
}

async function isOf(view: View, clusterId: string, user: User): Promise<boolean> {
  return (await view.get(workspaces, user.workspace_id))?.cluster_id === clusterId;
}
