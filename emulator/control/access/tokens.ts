import type { Fail } from "../../../src/api/failures.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { type Workspace, workspaces } from "../../domain/workspaces.ts";
import { reply } from "../../http/reply.ts";
import type { Store } from "../../store/port.ts";
import type { ControlHandlers } from "../context.ts";

/** Finds a workspace by its ID, or by its name, which is unique and case-insensitive. */
async function findWorkspaceByName(
  store: Store,
  idOrName: string,
  fail: Fail<"no-such-workspace-name">,
): Promise<Workspace> {
  const allWorkspaces = await store.read((view) => view.list(workspaces));
  const workspace = allWorkspaces.find(
    ({ id, name }) => String(id) === idOrName || name.toLowerCase() === idOrName.toLowerCase(),
  );
  return workspace ?? fail("no-such-workspace-name", { name: idOrName, known: allWorkspaces.map(({ name }) => name) });
}

export const tokenHandlers = {
  "tokens.create": async ({ params: { name }, body: { role, workspace: workspaceName } }, { tokens, store, fail }) => {
    const boundWorkspace =
      workspaceName === undefined ? undefined : await findWorkspaceByName(store, workspaceName, fail);
    const token = (await tokens.create(store, name, role, boundWorkspace)) ?? fail("token-name-taken", { name });
    return reply(
      201,
      { name, role, token, ...(boundWorkspace && { workspace: boundWorkspace.name }) },
      { "cache-control": "no-store" },
    );
  },

  "tokens.list": async (_, { tokens }) =>
    (await tokens.list()).map(({ name, role, workspace, created_at, last_used_at }) => ({
      name,
      role,
      ...(workspace !== undefined && { workspace }),
      created_at: toIsoMillis(created_at),
      last_used_at: last_used_at === null ? null : toIsoMillis(last_used_at),
    })),

  "tokens.revoke": async ({ params: { name } }, { tokens, store, fail }) => {
    if (!(await tokens.revoke(store, name))) fail("no-such-token", { name });
    return undefined;
  },
} satisfies ControlHandlers;
