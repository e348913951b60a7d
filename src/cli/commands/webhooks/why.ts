import type { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import type { Client } from "../../../client/client.ts";
import { type Context, command } from "../../command.ts";
import { mayAsk } from "../../context.ts";
import { CommandFailed, UsageError } from "../../failure.ts";
import { emulatorOfEnvironment, serviceSettings } from "../../settings.ts";

type Webhook = ResultOf<typeof listControlWebhooks>[number];

/** So many of the newest deliveries are looked at. */
const looked = 500;

export const webhooksWhy = command({
  words: ["webhooks", "why"],
  summary: "Say why a webhook does not arrive: since when, because of what, what came back, what comes next",
  description:
    "Reads the deliveries of the running emulator. Without an argument it takes the one webhook that fails, or asks. Exits 1 where it fails, is disabled or nothing was delivered, 0 where the last delivery arrived.",
  positionals: [
    { name: "webhook", optional: true, description: "Its id or URL, or the id or name of a workspace that has one" },
  ],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" }],
  examples: [
    { title: "The one that fails", argv: ["webhooks", "why"] },
    { title: "A certain one", argv: ["webhooks", "why", "1"] },
  ],
  async run({ positionals, flags }, context) {
    await refuseRealService(flags.file, context);
    const [{ listControlWebhooks }, { listDeliveries }, { findings, findingLines }] = await Promise.all([
      import("../../../api/emulator/webhooks.ts"),
      import("../../../api/emulator/deliveries.ts"),
      import("../../trace/failing-webhook.ts"),
    ]);
    const client = await context.client("emulator", { file: flags.file });
    const { signal, output } = context;
    const all = await client.call(listControlWebhooks, {}, { signal });
    const webhook = await chosen(positionals.webhook, all, client, context);
    const query = { webhook: webhook.id, limit: looked };
    const { items } = await client.call(listDeliveries, { query }, { signal });
    const found = findings(webhook, items, items.length === 0 ? nothing : await traceOf(webhook, client, context));
    await output.event(found, ...findingLines(found));
    return found.failing ? "failed" : undefined;
  },
});

const nothing = { nodes: [], planned: [] };

/** Of the newest deliveries: why each attempt was made, and what led to them. */
async function traceOf({ id }: Webhook, client: Client, { signal }: Context) {
  const { showTrace } = await import("../../../api/emulator/traces.ts");
  return client.call(showTrace, { params: { ref: `webhook:${id}` } }, { signal });
}

/** Before anything is asked: no service but an emulator tells of its deliveries. */
export async function refuseRealService(file: string | undefined, { globals, host }: Context): Promise<void> {
  if (file !== undefined || globals.emulator) return;
  const isNamed = globals.profile !== undefined;
  if (!isNamed && globals.baseUrl === undefined && emulatorOfEnvironment(host)) return;
  const { chosenBy, isEmulatorHere, controlToken } = await serviceSettings({ globals, host });
  const isReal = chosenBy !== undefined && !isEmulatorHere && (isNamed || controlToken === undefined);
  if (!isReal) return;
  throw new CommandFailed("failed", "only_emulator", `Only an emulator knows; this is the service of ${chosenBy}.`, {
    hint: "The real service shows what became of its webhooks in its application only.",
  });
}

/** The webhook that is meant: by the argument, else the only one that fails, else the one that a person chooses. */
async function chosen(
  asked: string | undefined,
  all: readonly Webhook[],
  client: Client,
  context: Context,
): Promise<Webhook> {
  if (all.length === 0) {
    throw new CommandFailed("not-found", "no_webhook", "There are no webhooks.", { next: ["webhooks", "listen"] });
  }
  const found = asked === undefined ? all : await named(asked, all, client, context);
  const failing = found.filter((one) => one.status !== "ACTIVE" || one.failure_count > 0);
  const [only] = found.length === 1 ? found : failing.length === 1 ? failing : [];
  if (only) return only;
  if (found.length === 0) {
    throw new CommandFailed("not-found", "no_webhook", `There is no webhook "${asked}".`, { hint: offer(all) });
  }
  if (!mayAsk(context.host, context.globals)) {
    throw new UsageError("<webhook> required: there are several", {
      hint: offer(failing.length > 0 ? failing : found),
    });
  }
  const { askChoice } = await import("../../terminal/ask.ts");
  const choices = found.map((value) => ({ value, name: described(value) }));
  return askChoice("Which webhook?", choices, context.host, context.signal);
}

async function named(asked: string, all: readonly Webhook[], client: Client, { signal }: Context) {
  const exact = all.filter(({ id, url }) => String(id) === asked || url === asked);
  if (exact.length > 0) return exact;
  const { listWorkspaces } = await import("../../../api/emulator/state/state.ts");
  const owners = (await client.call(listWorkspaces, {}, { signal })).filter(
    ({ id, name }) => String(id) === asked || name.toLowerCase() === asked.toLowerCase(),
  );
  return all.filter(({ workspace_id }) => owners.some(({ id }) => id === workspace_id));
}

const described = ({ id, title, status, url }: Webhook): string => `${id}  ${title}  ${status}  ${url}`;
const offer = (all: readonly Webhook[]): string => `There are: ${all.map(described).join("; ")}`;
