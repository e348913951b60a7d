import { listActivities } from "../../../api/emulator/activities.ts";
import { showClock } from "../../../api/emulator/clock.ts";
import { listDeliveries, showDelivery } from "../../../api/emulator/deliveries.ts";
import { listFaults } from "../../../api/emulator/faults.ts";
import { showTrace } from "../../../api/emulator/traces.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { Column } from "../../../api/operation.ts";
import type { Webhook } from "../../../api/webhook-health/attempts.ts";
import { assessDeletedWebhook, assessWebhook, type WebhookFacts } from "../../../api/webhook-health/health.ts";
import { groupBy } from "../../../base/object.ts";
import { findNearest, pluralize } from "../../../base/text.ts";
import type { Client } from "../../../client/client.ts";
import { ServiceError } from "../../../client/errors.ts";
import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { findRealService } from "../../connection/target.ts";
import { checkFields, listFields, type Output } from "../../output/output.ts";
import { readWindowWidth, type StyledLine } from "../../output/styled.ts";
import { fitTable } from "../../output/table.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { readDeliveryLog } from "./delivery-log.ts";
import {
  buildFindings,
  compareWorstFirst,
  type DeletedWebhook,
  formatFindings,
  type WebhookReading,
} from "./failing-webhook.ts";

/** Maximum number of webhooks described in full in JSON, and on a terminal, without --all. */
const maxTraced = 3;
const maxListed = 40;
/** The report fits on one screen. */
const maxLines = 25;
/** A table of this many rows leaves space for the conclusion. */
const maxRows = 7;

const webhooksWhy = defineCommand({
  words: ["webhooks", "why"],
  summary: "Diagnose webhooks that fail",
  description: `Reads the deliveries of the running emulator, and prints in at most ${maxLines} lines when the failures began, their common cause, the last result and the steps to fix it. Several webhooks are listed first, the worst on top. For a real service, prints a checklist. Exits 1 if a webhook fails, is disabled or was sent nothing, 0 if the last delivery of each arrived, 5 if no emulator runs.`,
  positionals: [
    {
      name: "webhook",
      optional: true,
      description: "ID, URL or title of a webhook (if deleted, ID or URL), or ID or name of a workspace",
    },
  ],
  flags: [
    createSwitch("all", "Show every failing webhook, attempt and delivery"),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    ["Diagnose the worst webhook", "webhooks why"],
    ["Diagnose one, with all its attempts", "webhooks why 1 --all"],
  ],
  async run({ positionals, flags }, context) {
    const service = await findRealService(flags.file, context);
    if (service !== undefined) return showChecklist(service, context);
    const { output, globals } = context;
    const client = await context.client("emulator", { file: flags.file });
    const reads = (await selectWebhooks(positionals.webhook, client, output)).toSorted(compareWorstFirst);
    const all = flags.all === true;
    if (output.isText) {
      await printForUsers(reads, all, client, context);
    } else if (output.format === "json" || output.format === "ndjson") {
      const failing = reads.filter(({ health }) => health.failing);
      const tracedReadings = reads.length === 1 ? reads : failing.slice(0, all ? undefined : maxTraced);
      for (const reading of reads.slice(0, all ? undefined : maxListed)) {
        const findings = buildFindings(tracedReadings.includes(reading) ? await addTrace(reading, client) : reading);
        if (globals.fields) checkFields(globals.fields, listFields([findings]));
        await output.printEvent(findings);
      }
    } else {
      // Spreadsheets and selected fields get one row per webhook.
      await output.show(reads.map(buildFindings), { columns: rowColumns });
    }
    return reads.some(({ health }) => health.failing) ? "failed" : undefined;
  },
});

const rowColumns = ["webhook.id", "webhook.title", "webhook.workspace_id", "state", "failing", "since", "short"];

async function selectWebhooks(
  argument: string | undefined,
  client: Client,
  output: Output,
): Promise<readonly WebhookReading[]> {
  const all: readonly Webhook[] = await client.call(listControlWebhooks);
  if (argument === undefined) {
    if (all.length > 0) return readHealth(all, client, output);
    const [last] = (await client.call(listDeliveries, { query: { limit: 1 } })).items;
    const lastReading = last && (await readDeletedWebhook(last.webhook_id, client));
    if (lastReading) return [lastReading];
    throw new CommandFailedError("not-found", "no_webhook", "No webhooks found.", { next: ["webhooks", "listen"] });
  }
  const namedWebhooks = findNamedWebhooks(argument, all);
  // A deleted webhook comes before the workspace with the same ID.
  const isWorkspaceId = namedWebhooks.every(
    ({ id, workspace_id }) => String(workspace_id) === argument && String(id) !== argument,
  );
  if (!isWorkspaceId) return readHealth(namedWebhooks, client, output);
  const deletedIds = await findDeletedWebhooks(argument, client);
  const deletedReading = deletedIds.length === 1 ? await readDeletedWebhook(deletedIds[0]!, client) : undefined;
  if (deletedReading) return [deletedReading];
  if (namedWebhooks.length > 0) return readHealth(namedWebhooks, client, output);
  if (deletedIds.length > 1) {
    throw new CommandFailedError("not-found", "no_webhook", `No webhook matches "${argument}".`, {
      hint: `Deleted webhooks with this URL: ${deletedIds.join(", ")}.`,
      next: ["webhooks", "why", String(deletedIds.at(-1))],
    });
  }
  const nearest = findNearest(argument, [...all.map(({ title }) => title), ...all.map(({ workspace }) => workspace)]);
  throw new CommandFailedError("not-found", "no_webhook", `No webhook matches "${argument}".`, {
    hint: nearest && `Did you mean ${nearest}?`,
    next: ["webhooks", "list"],
  });
}

async function printForUsers(reads: readonly WebhookReading[], all: boolean, client: Client, context: Context) {
  const { output, host } = context;
  const columns = (host.stdout.isTTY && readWindowWidth(host.stdout, host.env)) || Number.POSITIVE_INFINITY;
  const isSingle = reads.length === 1;
  // Webhooks without deliveries appear only in the table.
  const failing = reads.filter(({ health }) => health.failing && !health.isUntouched);
  const shownReadings = isSingle ? reads : failing.slice(0, all ? undefined : 1);
  const table = isSingle ? [] : formatTable(all ? reads : reads.slice(0, maxRows), context);
  const moreRows = isSingle || all ? 0 : Math.max(0, reads.length - maxRows);
  const moreFailing = failing.length - shownReadings.length;
  const hints = [
    ...(moreRows > 0 ? [`${moreRows} more`] : []),
    ...(moreFailing > 0 && !isSingle ? [pluralize(moreFailing, "more failing webhook")] : []),
  ];
  if (hints.length > 0) table.push(`${hints.join(", ")}: svc webhooks why ID, or --all`);
  await output.print(...table);
  for (const reading of shownReadings) {
    const findings = buildFindings(await addTrace(reading, client));
    const room = maxLines - (isSingle ? 0 : table.length + 1);
    await output.print(
      ...(isSingle ? [] : [""]),
      ...formatFindings(findings, { all, maxLines: room, columns, isBound: reading.isBound }),
    );
  }
}

function formatTable(reads: readonly WebhookReading[], { host, globals }: Context): StyledLine[] {
  const windowWidth = (!globals.wide && readWindowWidth(host.stdout, host.env)) || Number.POSITIVE_INFINITY;
  const columns: readonly Column[] = [
    { name: "webhook", shrinkPriority: 2 },
    { name: "workspace", shrinkPriority: 1 },
    { name: "state", shrinkPriority: 3 },
    "since",
    { name: "why", shrinkPriority: 2 },
  ];
  return [...fitTable(reads.map(toRow), { columns, window: windowWidth, isComplete: false }).lines];
}

const toRow = ({ webhook, health }: WebhookReading) => [
  webhook.status === "DELETED" ? String(webhook.id) : `${webhook.id} ${webhook.title}`,
  webhook.status === "DELETED" ? String(webhook.workspace_id) : `${webhook.workspace_id} ${webhook.workspace}`,
  health.state.words,
  health.since?.slice(0, 16).replace("T", " ") ?? null,
  health.shortReason,
];

/** Checks that need no log of deliveries, in the order in which to try them. */
const checks: readonly (readonly [words: string, argv: readonly string[]])[] = [
  [
    "Receive its webhooks on this machine through a tunnel, and check their signatures",
    ["webhooks", "listen", "--public-url", "https://YOUR-TUNNEL/", "--forward-to", "localhost:3000", "--save", "hooks"],
  ],
  ["Check the signature of a saved webhook", ["webhooks", "verify", "hooks/0001-CONTRACT_SIGNED.json"]],
  ["Find out why a signature does not match", ["webhooks", "explain", "body.json", "--headers", "headers.txt"]],
  [
    "Send a saved webhook to your receiver again",
    ["webhooks", "replay", "hooks/0001-CONTRACT_SIGNED.json", "--to", "localhost:3000"],
  ],
  ["Resend the last webhook of a contract", ["webhooks", "re-trigger", "--contract-ids", "1"]],
  [
    "Run your receiver's tests with an emulator that starts from a saved state",
    ["emulator", "exec", "--from", "state.json", "--", "npm", "test"],
  ],
];

/** Prints the checklist. The command does not succeed, because it is unknown whether anything fails. */
async function showChecklist(service: string, context: Context): Promise<"failed"> {
  const { output } = context;
  await output.note(`The service of ${service} shows its webhook deliveries in its application only.`);
  const commands = checks.map(([words, argv]) => ({ words, command: formatNextCommand(argv, context) }));
  const lines = commands.flatMap(({ words, command }) => [`${words}:`, `  ${command}`]);
  await output.showOrPrint(commands, "To diagnose it from this machine:", ...lines);
  return "failed";
}

/** Finds the webhooks that an argument names by ID or URL, or else by title or workspace. */
function findNamedWebhooks(argument: string, all: readonly Webhook[]): readonly Webhook[] {
  const isNamed = (...names: readonly (string | number)[]) =>
    names.some((name) => String(name).toLowerCase() === argument.toLowerCase());
  const exact = all.filter(({ id, url }) => String(id) === argument || url === argument);
  return exact.length > 0
    ? exact
    : all.filter(({ title, workspace, workspace_id }) => isNamed(title, workspace, workspace_id));
}

/** Returns the IDs of the deleted webhooks that an argument may name: an ID, or a URL, which only attempts contain. */
async function findDeletedWebhooks(argument: string, client: Client): Promise<readonly number[]> {
  if (/^[1-9]\d{0,14}$/.test(argument)) return [Number(argument)];
  if (!URL.canParse(argument)) return [];
  const { deliveries } = await readLog(undefined, client);
  const attempted = deliveries.filter(({ webhook_status, attempts: [first] }) => webhook_status === "DELETED" && first);
  const matches: number[] = [];
  for (const [webhookId, id] of new Map(attempted.map(({ webhook_id, id }) => [webhook_id, id]))) {
    const { attempts } = await client.call(showDelivery, { params: { id } });
    if (attempts.some(({ url }) => url === argument)) matches.push(webhookId);
  }
  return matches.sort((a, b) => a - b);
}

/** Number of newest deliveries to read. The console uses the same number. */
const maxDeliveries = 10_000;

/** Reads the health of webhooks in as few requests as possible. */
async function readHealth(webhooks: readonly Webhook[], client: Client, output: Output): Promise<WebhookReading[]> {
  const [{ deliveries, isPartial }, now] = await Promise.all([
    readLog(webhooks.length === 1 ? webhooks[0]!.id : undefined, client),
    getVirtualTime(client),
  ]);
  let isBound = false;
  const faults = await client.call(listFaults).catch(async (error: unknown) => {
    if (!(error instanceof ServiceError && error.status === 403)) throw error;
    isBound = true;
    await output.note("Faults are not checked: a token that is bound to a workspace cannot list them.");
    return [];
  });
  const logs = new Map<number, Pick<WebhookFacts, "deliveries" | "isPartial">>();
  const deliveriesByWebhook = groupBy(deliveries, ({ webhook_id }) => webhook_id);
  for (const webhook of webhooks) {
    const read = { deliveries: deliveriesByWebhook.get(webhook.id) ?? [], isPartial };
    // The newest deliveries show whether a webhook fails, but maybe not since when.
    const isSufficient =
      !isPartial ||
      webhooks.length === 1 ||
      (read.deliveries.length > 0 && !assessWebhook(webhook, { ...read, faults, formatTime, now }).failing);
    logs.set(webhook.id, isSufficient ? read : await readLog(webhook.id, client));
  }
  if ([...logs.values()].some((log) => log.isPartial))
    await output.note(`Only the newest ${maxDeliveries} deliveries were read. Counts and lists omit older ones.`);
  const isEachUsed = webhooks.every(({ id }) => logs.get(id)!.deliveries.length > 0);
  const pastActivities = isEachUsed ? undefined : await client.call(listActivities);
  return webhooks.map((webhook) => {
    const log = logs.get(webhook.id)!;
    const health = assessWebhook(webhook, { ...log, faults, pastActivities, formatTime, now });
    return { webhook, deliveries: log.deliveries, now, health, isBound };
  });
}

/** Returns undefined if no delivery of the webhook is stored. */
async function readDeletedWebhook(id: number, client: Client): Promise<WebhookReading | undefined> {
  const [{ deliveries }, now] = await Promise.all([readLog(id, client), getVirtualTime(client)]);
  const [first] = deliveries;
  if (!first) return undefined;
  const webhook: DeletedWebhook = { id, workspace_id: first.workspace_id, status: "DELETED" };
  return { webhook, deliveries, now, health: assessDeletedWebhook(deliveries, formatTime, now) };
}

async function addTrace(reading: WebhookReading, client: Client): Promise<WebhookReading> {
  if (reading.deliveries.length === 0) return { ...reading, trace: { nodes: [], planned: [] } };
  const trace = await client.call(showTrace, { params: { ref: `webhook:${reading.webhook.id}` } });
  return { ...reading, trace };
}

const getVirtualTime = async (client: Client) => Date.parse((await client.call(showClock)).now);

const formatTime = (iso: string): string => iso;

const readLog = (webhook: number | undefined, client: Client) =>
  readDeliveryLog(client, { webhook, max: maxDeliveries });

export const commands: readonly Command[] = [webhooksWhy];
