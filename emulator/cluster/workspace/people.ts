import type * as z from "zod";
import type { OrgUser } from "../../../src/api/contracts/shapes/people.ts";
import type { View } from "../../store/port.ts";
import { type User, users, type Workspace } from "../../world/workspaces.ts";

/** A user as bodies name one. Rows only refer to users that exist, so a gap is a bug of ours. */
export async function orgUser(view: View, id: number): Promise<z.infer<typeof OrgUser>> {
  const user = await view.get(users, id);
  if (!user) throw new Error(`A row refers to user ${id}, who does not exist`);
  return { id: user.id, name: user.name, email: user.email, designation: user.designation };
}

/** An active user of the workspace; undefined for anybody else. */
export async function activeUser(view: View, workspace: Workspace, id: number): Promise<User | undefined> {
  const user = await view.get(users, id);
  return user?.workspace_id === workspace.id && user.is_active ? user : undefined;
}

/** How the framework words a reference to a row that the workspace does not have (DECISIONS.md, C1). */
export const noSuchRow = (id: unknown): string => `Invalid pk "${id}" - object does not exist.`;
