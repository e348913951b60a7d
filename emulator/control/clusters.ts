import { hiddenFrom } from "../../src/api/control-roles.ts";
import { firstWorkspace } from "../world/workspaces.ts";
import type { ControlHandlers } from "./world.ts";

export const controlClusterHandlers = {
  "emulator.clusters": (_, { store, clusters, caller }) =>
    store.read((view) =>
      Promise.all(
        clusters.map(async ({ id, label, url, reachedAt, external, key }) => {
          const first = await firstWorkspace(view, id);
          return {
            id,
            label,
            url,
            own_url: reachedAt,
            external,
            // With it the data of all its workspaces are routed.
            cluster_key: caller.token.workspace === undefined ? key : hiddenFrom("a token without a workspace"),
            client_id: first?.client_id ?? null,
            client_secret: first?.client_secret ?? null,
            hmac_key: first?.hmac_key ?? null,
          };
        }),
      ),
    ),
} satisfies ControlHandlers;
