import * as z from "zod";
import type { OrgUser } from "../../../src/api/contracts/shapes.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { roles, type User, users } from "../../domain/workspaces.ts";
import { defineRows, type Transaction, type View } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { mapPage, paginateList } from "../response.ts";

import { createUnusedId, findMemberByEmail } from "./workspace-rows.ts";

export const userHandlers = {
  "users.list": ({ query }, { store, caller }) => {
    const slice = { by: "workspace", equals: caller.workspace.id } as const;
    const names = new Map(store.list(roles, slice).map(({ id, name }) => [id, name]));
    const matches = store
      .list(users, slice)
      .filter(({ email, name }) => contains(email, query.user_email) && contains(name, query.user_name));
    return mapPage(paginateList(matches, query), (user) => toUserRecord(user, names));
  },

  "users.roles": (_, { store, caller }) => {
    const all = store.list(roles, { by: "workspace", equals: caller.workspace.id });
    return { active_roles: all.map(({ id, name }) => ({ id, name })) };
  },
} satisfies ClusterHandlers;

const contains = (text: string, searchText: string | undefined): boolean =>
  searchText === undefined || text.toLowerCase().includes(searchText.trim().toLowerCase());

const toUserRecord = (user: User, roleNames: ReadonlyMap<number, string>) => ({
  id: user.id,
  email: user.email,
  name: user.name,
  ...(user.designation !== null && { designation: user.designation }),
  roles: user.roles.flatMap((id) => {
    const name = roleNames.get(id);
    return name === undefined ? [] : [{ id, name }];
  }),
  is_active: user.is_active,
});

/** Rows only refer to existing users, so a missing user is a bug. */
export function toOrgUser(view: View, id: number): z.infer<typeof OrgUser> {
  const user = view.get(users, id);
  if (!user) throw new Error(`A row refers to user ${id}, who does not exist`);
  return { id: user.id, name: user.name, email: user.email, designation: user.designation };
}

/** A person who is named in a contract of the workspace but is not a member. */
const Outsider = z.strictObject({ id: z.int(), workspace_id: z.int(), email: z.string() });

export const outsiders = defineRows({
  name: "outsiders",
  schema: Outsider,
  key: (row) => toOutsiderKey(row.workspace_id, row.email),
  numbers: { person: (row) => row.id },
});

const toOutsiderKey = (workspaceId: number, email: string): string => `${workspaceId} ${toAddressKey(email)}`;

/** Returns an unused person ID. Seeds choose the IDs of members (DECISIONS.md, C13). */
export const createPersonId = (tx: Transaction): number => createUnusedId(tx, users, "person");

export function findPersonId(view: View, workspaceId: number, email: string): number | undefined {
  const member = findMemberByEmail(view, workspaceId, email);
  return member?.id ?? view.get(outsiders, toOutsiderKey(workspaceId, email))?.id;
}

export function getOrCreatePersonId(tx: Transaction, workspace_id: number, email: string): number {
  const existingId = findPersonId(tx, workspace_id, email);
  if (existingId !== undefined) return existingId;
  const id = createPersonId(tx);
  tx.put(outsiders, { id, workspace_id, email: toAddressKey(email) });
  return id;
}
