import { activities as allActivities } from "../../../api/activities.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { requireEmulator } from "../../connection/target.ts";

const columns = [
  "id",
  { name: "workspace", shrinkPriority: 1 },
  { name: "title", shrinkPriority: 3 },
  { name: "status", purpose: true },
  "failure_count",
  { name: "url", shrinkPriority: 2, minWidth: 24, omits: "start" },
  { name: "only_for_activities", shrinkPriority: 1 },
] as const;

/** Replaces the list of all activities, which is longer than a window is wide. */
const abbreviateActivities = (webhook: ResultOf<typeof listControlWebhooks>[number]) =>
  webhook.only_for_activities.length === allActivities.length
    ? { ...webhook, only_for_activities: `all (${allActivities.length})` }
    : webhook;

/** The public API has no such list. An emulator provides it, and the real service shows it in its application. */
const webhooksList = defineCommand({
  words: ["webhooks", "list"],
  summary: "List webhooks with their status and failures",
  description:
    "Lists the webhooks of all workspaces of the running emulator. The real service shows them in its application only.",
  flags: [createTextFlag("file", "FILE", "State file of the running emulator")],
  examples: [["List the webhooks and their activities", "webhooks list"]],
  async run({ flags }, context) {
    await requireEmulator(flags.file, context);
    const client = await context.client("emulator", { file: flags.file });
    const webhooks = await client.call(listControlWebhooks);
    const isOverview = context.output.isText;
    await context.output.show(isOverview ? webhooks.map(abbreviateActivities) : webhooks, {
      columns,
      emptyMessage: "No webhooks. To create one: svc webhooks listen or svc webhooks create",
    });
  },
});

export const commands: readonly Command[] = [webhooksList];
