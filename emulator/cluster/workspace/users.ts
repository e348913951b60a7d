import { roles, type User, users } from "../../world/workspaces.ts";
import { pageOfList } from "../paging.ts";
import type { ClusterHandlers } from "../world.ts";

export const userHandlers = {
  "users.list": ({ query }, { store, caller }) =>
    store.read(async (view) => {
      const ofWorkspace = { by: "workspace", equals: caller.workspace.id } as const;
      const names = new Map((await view.list(roles, ofWorkspace)).map(({ id, name }) => [id, name]));
      const wanted = (await view.list(users, ofWorkspace)).filter(
        ({ email, name }) => contains(email, query.user_email) && contains(name, query.user_name),
      );
      const page = pageOfList(wanted, query);
      return { ...page, results: page.results.map((user) => userRecord(user, names)) };
    }),

  "users.roles": (_, { store, caller }) =>
    store.read(async (view) => {
      const all = await view.list(roles, { by: "workspace", equals: caller.workspace.id });
      return { active_roles: all.map(({ id, name }) => ({ id, name })) };
    }),
} satisfies ClusterHandlers;

const contains = (text: string, part: string | undefined): boolean =>
  part === undefined || text.toLowerCase().includes(part.trim().toLowerCase());

const userRecord = (user: User, roleNames: ReadonlyMap<number, string>) => ({
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
