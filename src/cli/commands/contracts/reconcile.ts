import { type Activity, activities } from "../../../api/activities.ts";
import { showProcessMetrics } from "../../../api/contracts/contract-details.ts";
import { listContracts } from "../../../api/contracts/contract-list.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { runConcurrently } from "../../../base/concurrency.ts";
import { groupBy, toFields, tryParseJson } from "../../../base/object.ts";
import { parseDuration, parseIsoTime } from "../../../base/quantities.ts";
import { pluralize } from "../../../base/text.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import type { Client } from "../../../client/client.ts";
import { replaceMissing } from "../../../client/errors.ts";
import { readVirtualTime } from "../../../client/response.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { InputRequiredError, UsageError } from "../../process/failure.ts";
import { withSpinner } from "../../prompt/terminal.ts";
import { fetchAllPages } from "../../runtime/paging.ts";
import { parseActivities } from "../webhooks/registration.ts";
import { readReceivedPayloads } from "../webhooks/saved-deliveries.ts";

/** Webhook that the service sends to a subscriber of its activity, derived from the state of its contract. */
interface DueWebhook {
  readonly contract: string;
  readonly contract_name: string;
  readonly contract_status: string;
  readonly activity: Activity;
  readonly at: string | null;
}

const shownColumns = [
  ...["CONTRACT_CREATED", "CONTRACT_SENT_TO_COUNTERPARTY", "CONTRACT_SIGNATURE_REQUESTED"],
  ...["CONTRACT_SIGNED", "CONTRACT_EXECUTED", "CONTRACT_VOIDED"],
] as const satisfies readonly Activity[];

const contractsReconcile = defineCommand({
  words: ["contracts", "reconcile"],
  summary: "Find webhooks that a receiver missed",
  description: `Reads the contracts that changed since a time, and lists the webhooks that the service would have sent for them to a subscriber of every activity. Registered webhooks are not compared: use --activities to check only yours. With --received, lists only the webhooks that are missing there. Exits 1 if some are missing. Covers the activities that leave a trace in a contract: ${shownColumns.join(", ")}.`,
  flags: [
    createTextFlag(
      "since",
      "TIME",
      "Start of the period, in the service's time, which is virtual in an emulator: ISO time or duration ago (2h)",
    ),
    createTextFlag(
      "received",
      "PATH",
      "Received payloads: folder of svc webhooks listen --save, or file with one per line",
    ),
    createTextFlag(
      "activities",
      "A,B",
      `Check only these of the ${shownColumns.length} activities that leave a trace`,
      { repeatable: true, suggestions: activities },
    ),
  ],
  examples: [
    [
      "List what a receiver missed while it was down",
      "contracts reconcile --since 2031-01-02T03:04:05Z --received webhooks.ndjson",
    ],
    ["List the executions of the last two hours", "contracts reconcile --since 2h --activities CONTRACT_EXECUTED"],
  ],
  async run({ flags }, context) {
    const selectedActivities = requireActivities(flags.activities);
    const { since: from, received: path } = flags;
    const received =
      path === undefined
        ? undefined
        : (await readReceivedPayloads(context, path)).map((text) => toFields(tryParseJson(text)));
    if (from === undefined) throw new InputRequiredError("since", "--since is required");
    if (parseDuration(from) === undefined && Number.isNaN(parseIsoTime(from)))
      throw new UsageError(`--since must be an ISO time or a duration (2031-01-02T03:04:05Z, 2h), got "${from}"`);
    const client = await context.client("contracts");
    const due = await withSpinner(context, "Reading contracts", async () => {
      const since = await resolveStart(from, client, context);
      return (await listDueSince(since, client)).filter(({ activity }) => selectedActivities.includes(activity));
    });
    const rows = received ? findMissing(due, received) : due;
    const skippedCount = received?.filter(({ activity }) => activity === undefined).length ?? 0;
    if (received && skippedCount > 0)
      await context.output.warn(
        `warning: --received: skipped ${skippedCount} of ${pluralize(received.length, "payload")} without an activity. Each line of a file must be the JSON of one webhook.`,
      );
    await context.output.show(rows, {
      fields: ["contract", "contract_name", "contract_status", "activity", "at"],
      columns: ["contract", { name: "contract_name", shrinkPriority: 1 }, "contract_status", "activity", "at"],
      emptyMessage: received
        ? `No webhooks are missing (${pluralize(due.length, "webhook")} checked)`
        : "No webhook was due, because no contract changed",
    });
    if (!received || rows.length === 0) return undefined;
    const numbers = [...new Set(rows.map(({ contract }) => parseNumber(contract)))].filter(Number.isInteger);
    const shown = numbers.slice(0, maxRetriggered);
    const retriggerArgv = ["webhooks", "re-trigger", ...shown.flatMap((id) => ["--contract-ids", String(id)])];
    const which = shown.length < numbers.length ? `of the first ${shown.length} contracts` : "of each contract";
    await context.output.note(
      `${rows.length} of ${pluralize(due.length, "webhook")} missing (${received.length} received). To resend the last one ${which}: ${formatNextCommand(retriggerArgv, context)}`,
    );
    return "failed";
  },
});

/** Number of contracts in the command that resends webhooks. A longer line is hard to copy. */
const maxRetriggered = 50;

function requireActivities(lists: readonly string[] | undefined): readonly Activity[] {
  const names = parseActivities(lists) ?? shownColumns;
  const unsupportedName = names.find((name) => !(shownColumns as readonly Activity[]).includes(name));
  if (unsupportedName === undefined) return names;
  throw new UsageError(`--activities must be activities that leave a trace in a contract, got "${unsupportedName}"`, {
    hint: `Use ${shownColumns.join(", ")}.`,
  });
}

/** A duration counts from the service's time, because an emulator can have advanced its clock. */
async function resolveStart(text: string, client: Client, { host }: Context): Promise<number> {
  const ms = parseDuration(text);
  if (ms === undefined) return parseIsoTime(text);
  const { headers } = await client.send(CheckedCall.check(listContracts, { query: { limit: 1 } }));
  const now = readVirtualTime(headers) ?? Date.parse(headers.date ?? "");
  return (Number.isNaN(now) ? host.wall.now() : now) - ms;
}

const paging = { by: "page", maxPerPage: 100, rows: "results", total: "total_results" } as const;
const maxConcurrent = 4;

async function listDueSince(since: number, client: Client): Promise<DueWebhook[]> {
  const query = { "filter__last_updated_on[$gte]": new Date(since).toISOString(), limit: paging.maxPerPage };
  const fetch = (part: typeof query) => client.call(listContracts, { query: part });
  const { results } = await fetchAllPages(paging, await fetch(query), query, fetch);
  const contracts = results.toReversed();
  const due: DueWebhook[][] = [];
  await runConcurrently(contracts.entries(), maxConcurrent, async ([at, contract]) => {
    const params = { contract_id: parseNumber(contract.id) };
    // The contract can have been deleted after it was listed.
    const metrics = await client.call(showProcessMetrics, { params }).catch(replaceMissing(undefined));
    due[at] = listDue(contract, metrics, since);
  });
  return due.flat();
}

const parseNumber = (id: string): number => Number(String(id).replace(/^[A-Z]-/, ""));

function listDue(
  contract: ResultOf<typeof listContracts>["results"][number],
  metrics: ResultOf<typeof showProcessMetrics> | undefined,
  since: number,
): DueWebhook[] {
  const { id, contract_name, contract_status, created } = contract;
  const events: (readonly [Activity, string | null | undefined])[] = [["CONTRACT_CREATED", created]];
  // Contracts executed outside the platform emit only their creation.
  if (metrics && !id.startsWith("H-")) {
    const { contract_sent_to_cp_datetime: sentAt, marked_for_signature_datetime: markedAt, contract_turns } = metrics;
    // A contract that needs no review by the counterparty is sent for signature.
    if (contract_turns.no_of_turns > 0) events.push(["CONTRACT_SENT_TO_COUNTERPARTY", sentAt]);
    events.push(["CONTRACT_SIGNATURE_REQUESTED", markedAt]);
    for (const { signed_datetime: signed } of metrics.contract_signed_by_signatory_list)
      events.push(["CONTRACT_SIGNED", signed]);
    events.push(["CONTRACT_EXECUTED", metrics.contract_executed_datetime]);
  }
  const due = events.flatMap(([activity, at]): DueWebhook[] =>
    at && Date.parse(at) >= Math.floor(since / 1_000) * 1_000
      ? [{ contract: id, contract_name, contract_status, activity, at }]
      : [],
  );
  // The contract was updated in this period, and voiding is its last possible change.
  if (contract_status === "VOIDED")
    due.push({ contract: id, contract_name, contract_status, activity: "CONTRACT_VOIDED", at: null });
  return due;
}

/** Returns deliveries that were not received. A received delivery accounts for the nearest of several equal ones. */
function findMissing(due: readonly DueWebhook[], received: readonly Readonly<Record<string, unknown>>[]): DueWebhook[] {
  const missing = new Set(due);
  const dueByKey = groupBy(due, ({ activity, contract }) => `${activity} ${parseNumber(contract)}`);
  const receivedKeys = new Set<string>();
  for (const payload of received) {
    // Repeated deliveries count as one webhook. Two people can sign at the same time.
    const key = JSON.stringify(payload);
    if (receivedKeys.has(key)) continue;
    receivedKeys.add(key);
    const { activity, contract_id: number, activity_data: data } = payload;
    const { timestamp } = toFields(data);
    const time = Date.parse(String(timestamp));
    const getDistance = (webhook: DueWebhook) =>
      webhook.at === null || Number.isNaN(time) ? 0 : Math.abs(Date.parse(webhook.at) - time);
    const [nearest] = (dueByKey.get(`${activity} ${number}`) ?? [])
      .filter((webhook) => missing.has(webhook) && getDistance(webhook) < toleranceMs)
      .sort((a, b) => getDistance(a) - getDistance(b));
    if (nearest) missing.delete(nearest);
  }
  return [...missing];
}

/** Contract times are whole seconds and payload times are not. Clocks of servers also differ. */
const toleranceMs = 60_000;

export const commands: readonly Command[] = [contractsReconcile];
