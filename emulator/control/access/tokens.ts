import { isoMillis } from "../../../src/base/clock.ts";
import { reply } from "../../http/reply.ts";
import type { ControlHandlers, ControlWorld } from "../world.ts";

export const tokenHandlers = {
  "tokens.create": async ({ params: { name }, body: { role } }, { tokens, store, fail }) => {
    const token = (await tokens.create(store, name, role)) ?? fail("token-name-taken", { name });
    return reply(201, { name, role, token }, { "cache-control": "no-store" });
  },

  "tokens.list": async (_, { tokens }) =>
    (await tokens.list()).map(({ name, role, created_at, last_used_at }) => ({
      name,
      role,
      created_at: isoMillis(created_at),
      last_used_at: last_used_at === null ? null : isoMillis(last_used_at),
    })),

  "tokens.revoke": async ({ params: { name } }, { tokens, store, fail }) => {
    if (!(await tokens.revoke(store, name))) fail("no-such-token", { name });
    return undefined;
  },
} satisfies ControlHandlers<Pick<ControlWorld, "tokens" | "store" | "clock" | "wall" | "ids">>;
