import { isoMillis } from "../../../src/base/clock.ts";
import { type WebhookEvent, webhookEvents } from "../../webhooks/deliveries.ts";
import { workspaces } from "../../world/workspaces.ts";
import type { ControlHandlers } from "../world.ts";

/** So many of the newest are counted. */
const counted = 10_000;

export const happenedHandlers = {
  "activities.list": (_, { store }) =>
    store.read(async (view) => {
      const groups = new Map<string, WebhookEvent[]>();
      for (const event of (await view.list(webhookEvents, { reverse: true, limit: counted })).toReversed()) {
        const key = `${event.workspace_id}:${event.activity}`;
        const group = groups.get(key);
        if (group) group.push(event);
        else groups.set(key, [event]);
      }
      const all = [...groups.values()];
      const owners = await view.getAll(workspaces, all, ([first]) => first!.workspace_id);
      return all.map((group, i) => ({
        workspace_id: group[0]!.workspace_id,
        workspace: owners[i]?.name ?? "",
        activity: group[0]!.activity,
        count: group.length,
        first_at: isoMillis(group[0]!.at),
        last_at: isoMillis(group.at(-1)!.at),
      }));
    }),
} satisfies ControlHandlers;
