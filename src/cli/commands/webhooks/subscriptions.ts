import { activities } from "../../../api/activities.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { toFields } from "../../../base/object.ts";
import { ServiceError } from "../../../client/errors.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { requireEmulator } from "../../connection/target.ts";
import { explainRejectedAddress } from "../../parse/values.ts";
import { PartialFailureError } from "../../process/failure.ts";
import { prepareRequest } from "../../runtime/derived-command.ts";

const webhooksCreate = defineCommand({
  words: ["webhooks", "create"],
  summary: "Subscribe a receiver to activities",
  description: "Warns if the emulator may not send to the address.",
  extendsDerived: true,
  async run(input, context, spec) {
    const request = await prepareRequest(spec!, input, context);
    if (request === "dry-run") return undefined;
    const { value } = await request.send().catch((error: unknown) => {
      throw withReason(error, toFields(request.call.args.body).url);
    });
    const { id, url } = toFields(value);
    const reason = await explainForbidden(id, url, context).catch(() => undefined);
    if (reason) await context.output.warn(`warning: the emulator will not send to this address: ${reason}`);
  },
});

/** Adds the reason to a rejected address, because the service has one message for all invalid addresses. */
function withReason(error: unknown, url: unknown): unknown {
  const isAddressRejected =
    error instanceof ServiceError && error.status === 400 && error.problem.message.startsWith("url: ");
  const hint = isAddressRejected && typeof url === "string" ? explainRejectedAddress(url) : undefined;
  return hint === undefined ? error : new PartialFailureError(error, [], { hint });
}

/** Explains why an emulator never sends to that webhook. Returns undefined if it sends, and for a real service. */
async function explainForbidden(id: unknown, url: unknown, context: Context): Promise<string | undefined> {
  if (isOnThisMachine(String(url))) return undefined;
  await requireEmulator(undefined, context);
  const client = await context.client("emulator", {});
  const all = await client.call(listControlWebhooks, {}, { retries: 0, timeoutMs: 2_000 });
  return all.find((webhook) => webhook.id === id && webhook.url === url)?.forbidden ?? undefined;
}

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
  webhook.only_for_activities.length === activities.length
    ? { ...webhook, only_for_activities: `all (${activities.length})` }
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

export const commands: readonly Command[] = [webhooksCreate, webhooksList];
