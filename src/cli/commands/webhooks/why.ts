import type { listDeliveries } from "../../../api/emulator/deliveries.ts";
import type { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import type { Client } from "../../../client/client.ts";
import { type Context, command } from "../../command.ts";
import { CommandFailed, UsageError } from "../../failure.ts";
import { emulatorOfEnvironment, serviceSettings } from "../../settings.ts";

type Webhook = ResultOf<typeof listControlWebhooks>[number];
type Delivery = ResultOf<typeof listDeliveries>["items"][number];

/** So many of the newest deliveries of each are looked at. */
const looked = 500;
/** So many characters of an answer are shown. */
const shownOfAnswer = 200;
/** So many webhooks are told of. */
const mostTold = 20;

export const webhooksWhy = command({
  words: ["webhooks", "why"],
  summary: "Say why a webhook does not arrive: since when, because of what, what came back, what comes next",
  description:
    "Reads the deliveries of the running emulator. Without an argument it tells of those that fail, or of all where none does; of several the worst comes first. Exits 1 where one fails, is disabled or nothing was delivered, 0 where the last delivery of each arrived, 5 where no emulator runs.",
  positionals: [
    {
      name: "webhook",
      optional: true,
      description: "Its id, URL or title, or the id or name of a workspace that has one",
    },
  ],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" }],
  examples: [
    { title: "Those that fail", argv: ["webhooks", "why"] },
    { title: "A certain one", argv: ["webhooks", "why", "1"] },
  ],
  async run({ positionals, flags }, context) {
    await refuseRealService(flags.file, context);
    const [{ listControlWebhooks }, { findingLines, worstFirst }] = await Promise.all([
      import("../../../api/emulator/webhooks.ts"),
      import("../../trace/failing-webhook.ts"),
    ]);
    const client = await context.client("emulator", { file: flags.file });
    const { signal, output } = context;
    const asking = { client, signal };
    const wanted = await chosen(positionals.webhook, await client.call(listControlWebhooks, {}, { signal }), asking);
    // In a sandbox of many the deliveries of those alone are read that are told of.
    const told = wanted.toSorted((a, b) => failures(b) - failures(a) || a.id - b.id).slice(0, mostTold);
    const all = worstFirst(await Promise.all(told.map((webhook) => foundOf(webhook, asking))));
    for (const [i, found] of all.entries()) {
      await output.event(found, ...(i === 0 ? [] : [""]), ...findingLines(found));
    }
    if (wanted.length > mostTold) await output.note(`${wanted.length - mostTold} more: svc webhooks list`);
    return all.some(({ failing }) => failing) ? "failed" : undefined;
  },
});

/** How many attempts have failed since one arrived; of one that nothing is sent to, more than any number. */
const failures = ({ status, forbidden, failure_count: count }: Webhook): number =>
  status === "ACTIVE" && forbidden === null ? count : Number.POSITIVE_INFINITY;

type Asking = Pick<Context, "signal"> & { readonly client: Client };

const nothing = { nodes: [], planned: [] };

async function foundOf(webhook: Webhook, asking: Asking) {
  const [{ listDeliveries }, { findings }] = await Promise.all([
    import("../../../api/emulator/deliveries.ts"),
    import("../../trace/failing-webhook.ts"),
  ]);
  const query = { webhook: webhook.id, limit: looked };
  const { items } = await asking.client.call(listDeliveries, { query }, { signal: asking.signal });
  if (items.length === 0) return findings(webhook, items, nothing);
  const [trace, answer] = await Promise.all([traceOf(webhook, asking), lastAnswer(items, asking)]);
  return findings(webhook, items, trace, answer);
}

/** The beginning of what the receiver answered to the last attempt of all, in a line; null where that was nothing. */
async function lastAnswer(deliveries: readonly Delivery[], { client, signal }: Asking): Promise<string | null> {
  const lastOf = ({ attempts }: Delivery) => attempts.at(-1)?.at ?? "";
  const [last] = deliveries.toSorted((a, b) => lastOf(b).localeCompare(lastOf(a)) || b.id - a.id);
  if (!last || last.attempts.at(-1)?.status == null) return null;
  const { showDelivery } = await import("../../../api/emulator/deliveries.ts");
  // It may have gone with the oldest meanwhile.
  const whole = await client.call(showDelivery, { params: { id: last.id } }, { signal }).catch(() => undefined);
  const line = (whole?.attempts.at(-1)?.response_body ?? "").replaceAll(/\s+/g, " ").trim();
  return line.length > shownOfAnswer ? `${line.slice(0, shownOfAnswer)}…` : line || null;
}

/** Of the newest deliveries: why each attempt was made, and what led to them. */
async function traceOf({ id }: Webhook, { client, signal }: Asking) {
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

/** The webhooks that are meant: by the argument, else those that fail, else all. */
async function chosen(asked: string | undefined, all: readonly Webhook[], asking: Asking): Promise<readonly Webhook[]> {
  if (all.length === 0) {
    throw new CommandFailed("not-found", "no_webhook", "There are no webhooks.", { next: ["webhooks", "listen"] });
  }
  if (asked !== undefined) return named(asked, all, asking);
  const failing = all.filter((one) => failures(one) > 0);
  return failing.length > 0 ? failing : all;
}

async function named(asked: string, all: readonly Webhook[], { client, signal }: Asking) {
  const exact = all.filter(({ id, url }) => String(id) === asked || url === asked);
  if (exact.length > 0) return exact;
  const { listWorkspaces } = await import("../../../api/emulator/state/state.ts");
  const workspaces = await client.call(listWorkspaces, {}, { signal });
  const owners = namedSo(asked, workspaces, ({ name }) => name).concat(
    workspaces.filter(({ id }) => String(id) === asked),
  );
  const titled = namedSo(asked, all, ({ title }) => title);
  const found = all.filter((one) => titled.includes(one) || owners.some(({ id }) => id === one.workspace_id));
  if (titled.length > 0 && owners.length > 0 && found.length > titled.length) {
    throw new UsageError(`"${asked}" is the title of a webhook, and the name of a workspace`, {
      hint: `Give an id. ${offer(found)}`,
    });
  }
  const distinct = new Set(titled.map(({ title }) => title)).size + new Set(owners.map(({ id }) => id)).size;
  if (distinct > 1) {
    const names = [...titled.map(({ title }) => title), ...owners.map(({ name, id }) => `${name} (workspace ${id})`)];
    throw new UsageError(`"${asked}" may be ${[...new Set(names)].join(", ")}`, {
      hint: found.length > 0 ? `Give an id. ${offer(found)}` : "Give the whole name.",
    });
  }
  if (found.length > 0) return found;
  const [owner] = owners;
  const missing = owner ? `The workspace "${owner.name}" has no webhook.` : `There is no webhook "${asked}".`;
  throw new CommandFailed("not-found", "no_webhook", missing, { hint: offer(all) });
}

/** Those with exactly that name, in any case; else those whose name begins with it. */
function namedSo<T>(asked: string, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  const wanted = asked.toLowerCase();
  const exact = all.filter((one) => nameOf(one).toLowerCase() === wanted);
  return exact.length > 0 ? exact : all.filter((one) => nameOf(one).toLowerCase().startsWith(wanted));
}

const described = ({ id, title, status, url }: Webhook): string => `${id}  ${title}  ${status}  ${url}`;
const offer = (all: readonly Webhook[]): string => `There are: ${all.map(described).join("; ")}`;
