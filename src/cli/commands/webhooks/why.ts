import type { Column } from "../../../api/operation.ts";
import type { Webhook } from "../../../api/webhook-health/health.ts";
import { type Context, command } from "../../command.ts";
import { CommandFailed } from "../../failure.ts";
import { checkFields, fieldsIn } from "../../output/output.ts";
import { emulatorOfEnvironment, serviceSettings } from "../../settings.ts";
import type { Read } from "../../trace/failing-webhook.ts";
import { type Asking, missing, namedWebhooks } from "./named-webhooks.ts";

/** Of so many it is told in full; of one that is named, always. */
const mostInFull = 3;
/** So many stand in the table, or are told to programs. */
const mostTold = 40;

export const webhooksWhy = command({
  words: ["webhooks", "why"],
  summary: "Say why a webhook does not arrive: since when, because of what, what came back, what comes next",
  description: `Reads the deliveries of the running emulator. Of several webhooks a table comes first, the worst on top, then up to ${mostInFull} of those that fail in full. Exits 1 where one fails, is disabled or nothing was delivered, 0 where the last delivery of each arrived, 5 where no emulator runs.`,
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
    const [{ findingLines, findings, worstFirst }, { withTrace }] = await Promise.all([
      import("../../trace/failing-webhook.ts"),
      import("../../trace/webhook-reading.ts"),
    ]);
    const { signal, output } = context;
    const asking = { client: await context.client("emulator", { file: flags.file }), signal };
    const all = worstFirst(await chosen(positionals.webhook, asking));
    const isTable = output.format === "table";
    const isForPeople = isTable && context.globals.fields === undefined;
    if (!isForPeople && output.format !== "json" && output.format !== "ndjson") return await showRows(all, context);
    if (isTable && all.length > 1) await printTable(all, context);
    const inFull = all.length === 1 ? all : all.filter(({ health }) => health.failing).slice(0, mostInFull);
    const told = isTable ? inFull : all.slice(0, mostTold);
    for (const read of told) {
      const found = findings(inFull.includes(read) ? await withTrace(read, asking) : read);
      if (context.globals.fields) checkFields(context.globals.fields, fieldsIn([found]));
      await output.event(found, ...(all.length === 1 ? [] : [""]), ...findingLines(found));
    }
    await noteRest(all, told.length, context);
    return verdictOn(all);
  },
});

const verdictOn = (all: readonly Read[]) => (all.some(({ health }) => health.failing) ? "failed" : undefined);

const rowColumns = ["webhook.id", "webhook.title", "webhook.workspace_id", "state", "failing", "since", "short"];

/** A row for each: for spreadsheets, and for people who choose what they see. */
async function showRows(all: readonly Read[], { output }: Context) {
  const { findings } = await import("../../trace/failing-webhook.ts");
  await output.show(all.map(findings), { columns: rowColumns });
  return verdictOn(all);
}

/** The webhooks that are meant: by the argument, else all. */
async function chosen(asked: string | undefined, asking: Asking): Promise<readonly Read[]> {
  const [{ listControlWebhooks }, { readGone, readHealth }] = await Promise.all([
    import("../../../api/emulator/webhooks.ts"),
    import("../../trace/webhook-reading.ts"),
  ]);
  const { client, signal } = asking;
  const all: readonly Webhook[] = await client.call(listControlWebhooks, {}, { signal });
  if (asked === undefined) {
    if (all.length > 0) return readHealth(all, asking);
    throw new CommandFailed("not-found", "no_webhook", "There are no webhooks.", { next: ["webhooks", "listen"] });
  }
  const named = await namedWebhooks(asked, all, asking);
  if (named) return readHealth(named, asking);
  const gone = await readGone(Number(asked), asking);
  if (gone) return [gone];
  throw missing(`There is no webhook ${asked}, and no delivery of one.`, undefined);
}

/** One line for each: which, of which workspace, how it stands, since when, and why in a few words. */
async function printTable(all: readonly Read[], { output, host, globals }: Context): Promise<void> {
  const [{ fittingTable }, { windowOf }] = await Promise.all([
    import("../../output/table.ts"),
    import("../../terminal/wide.ts"),
  ]);
  const window = globals.wide ? undefined : windowOf(host.stdout, host.env);
  const columns: readonly Column[] = [
    { name: "webhook", cut: 2 },
    { name: "workspace", cut: 1 },
    { name: "state", cut: 3 },
    "since",
    { name: "why", cut: 2 },
  ];
  const rows = all.slice(0, mostTold).map(rowOf);
  const { lines } = fittingTable(rows, { columns, window: window ?? Number.POSITIVE_INFINITY, keepsAll: false });
  await output.print(...lines);
  if (all.length > mostTold) await output.note(`${all.length - mostTold} more: svc webhooks list`);
}

const rowOf = ({ webhook, health }: Read) => [
  webhook.status === "DELETED" ? String(webhook.id) : `${webhook.id} ${webhook.title}`,
  webhook.status === "DELETED" ? String(webhook.workspace_id) : `${webhook.workspace_id} ${webhook.workspace}`,
  health.state.words,
  health.since?.slice(0, 16).replace("T", " ") ?? null,
  health.short,
];

async function noteRest(all: readonly Read[], told: number, { output }: Context): Promise<void> {
  // Those that nothing was sent to yet stand in the table alone.
  const failing = all.filter(({ health }) => health.failing && !health.untouched).length;
  if (output.format === "table" && failing > told && told > 0)
    await output.note(`${failing - told} more that fail, each in full: svc webhooks why ID`);
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
