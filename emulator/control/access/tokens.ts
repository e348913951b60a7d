import type { Fail } from "../../../src/api/failures.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { type Workspace, workspaces } from "../../domain/workspaces.ts";
import { reply } from "../../http/reply.ts";
import type { Store } from "../../store/port.ts";
import type { ControlHandlers } from "../context.ts";

/** Finds a workspace by its id, or by its name, which is unique and case-insensitive. */
async function findWorkspaceByName(
  store: Store,
  wanted: string,
  fail: Fail<"no-such-workspace-name">,
): Promise<Workspace> {
  const all = await store.read((view) => view.list(workspaces));
  const found = all.find(({ id, name }) => String(id) === wanted || name.toLowerCase() === wanted.toLowerCase());
  return found ?? fail("no-such-workspace-name", { name: wanted, known: all.map(({ name }) => name) });
}

export const tokenHandlers = {
  "tokens.create": async ({ params: { name }, body: { role, workspace: wanted } }, { tokens, store, fail }) => {
    const bound = wanted === undefined ? undefined : await findWorkspaceByName(store, wanted, fail);
    const token = (await tokens.create(store, name, role, bound)) ?? fail("token-name-taken", { name });
    return reply(201, { name, role, token, ...(bound && { workspace: bound.name }) }, { "cache-control": "no-store" });
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
