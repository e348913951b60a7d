import { isoMillis } from "../../src/base/clock.ts";
import { beginInstallation } from "../cluster/installations/installations.ts";
import { type Installation, installations } from "../cluster/installations/rows.ts";
import { reply } from "../http/reply.ts";
import { authorizationUrl, issueProviderCode, providerRedirect } from "../world/provider.ts";
import { workspaces } from "../world/workspaces.ts";
import type { ControlHandlers } from "./world.ts";

export const installationHandlers = {
  "installations.list": ({ query }, { store }) =>
    store.read(async (view) => ({
      items: (await view.list(installations, { ...query, reverse: true })).map(recordOf),
      total: await view.count(installations),
    })),

  "installations.begin": async ({ params: { app }, body }, world) => {
    const { store, clusters, ids, settings, fail } = world;
    const { workspace_id, approve_as } = body;
    return store.transaction("installations.begin", async (tx) => {
      const [first] = await tx.list(workspaces, { limit: 1 });
      const workspace = workspace_id === undefined ? first : await tx.get(workspaces, workspace_id);
      if (!workspace) return fail("no-such-workspace", { id: workspace_id ?? 1 });
      const begun = await beginInstallation(tx, world, app, workspace);
      const { destinations } = clusters.find(({ id }) => id === begun.cluster_id)!;
      const destination = destinations.includes("default") ? "default" : destinations[0];
      const { state } = begun;
      const visit = { flow: "install", provider: app, state, ...(app === "chat_a" && { destination }) } as const;
      const account = approve_as === undefined ? undefined : { provider: app, account: approve_as, name: approve_as };
      const code = account ? await issueProviderCode(tx, ids, account) : null;
      return reply(201, {
        ...recordOf(begun),
        state,
        authorization_url: authorizationUrl(settings.publicUrl, visit),
        code,
        redirect_url: code === null ? null : providerRedirect(settings.publicUrl, visit, { code }),
      });
    });
  },
} satisfies ControlHandlers;

const recordOf = ({ state: _, begun_at, ended_at, ...row }: Installation) => ({
  ...row,
  begun_at: isoMillis(begun_at),
  ended_at: ended_at === null ? null : isoMillis(ended_at),
});
