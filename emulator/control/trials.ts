import { trialSignups } from "../router/trial/signups.ts";
import type { ControlHandlers } from "./world.ts";

export const trialListHandlers = {
  "trials.list": ({ query }, { store }) =>
    store.read(async (view) => ({
      items: (await view.list(trialSignups, { ...query, reverse: true })).map(
        ({ claimed: _, workspace, ...signup }) => ({
          ...signup,
          cluster_id: workspace?.cluster_id ?? null,
          workspace_id: workspace?.workspace_id ?? null,
        }),
      ),
      total: await view.count(trialSignups),
    })),
} satisfies ControlHandlers;
