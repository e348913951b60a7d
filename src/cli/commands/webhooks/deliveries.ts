import { type listDeliveries, watchDeliveries } from "../../../api/emulator/deliveries.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { type Attempt, filterScheduled, formatNextAttempt } from "../../../api/webhook-health/attempts.ts";
import {
  computeNextAttempt,
  failuresUntilDisabled,
  getRetryDelayMs,
  type RetrySchedule,
  specifiedRetrySchedule,
} from "../../../api/webhook-retries.ts";
import { toIsoMillis } from "../../../base/clock.ts";
import { describeDuration } from "../../../base/quantities.ts";
import { NetworkError } from "../../../client/errors.ts";
import { createIntegerFlag, createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { type EventOf, followStream } from "../../connection/follow.ts";
import { openEmulatorClient, requireEmulator } from "../../connection/target.ts";
import { parseTimeFlag } from "../../parse/globals.ts";
import { pickGiven } from "../../parse/values.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { reportMoreRows } from "../../runtime/paging.ts";
import { readDeliveryLog } from "./delivery-log.ts";

type Delivery = ResultOf<typeof listDeliveries>["items"][number];
type Webhook = ResultOf<typeof listControlWebhooks>[number];
type Event = EventOf<typeof watchDeliveries>;

export const followFlag = createSwitch("follow", "Print new entries as they happen, until Ctrl-C", { short: "f" });

const emulatorDeliveries = defineCommand({
  words: ["emulator", "deliveries"],
  summary: "List or follow webhook deliveries",
  description: "With --follow, each attempt is printed when it is made.",
  extendsDerived: true,
  readsDerived: {
    flags: [
      { flag: "webhook", type: "integer" },
      { flag: "activity", type: "text" },
      { flag: "contract", type: "text" },
      { flag: "outcome", type: "text" },
      { flag: "limit", type: "integer" },
      { flag: "offset", type: "integer" },
      { flag: "all", type: "switch" },
      { flag: "file", type: "text" },
    ],
  },
  flags: [followFlag],
  examples: [["Print attempts as they happen", "emulator deliveries --follow"]],
  async run(input, context, spec) {
    const { flags } = input;
    if (!flags.follow) return runDerivedCommand(spec!, input, context);
    for (const name of ["limit", "offset", "all"] as const) {
      if (flags[name] !== undefined) throw new UsageError(`--${name} cannot be used with --follow`);
    }
    if (flags.outcome === "waiting") throw new UsageError("--outcome waiting cannot be used with --follow");
    const query = pickGiven(flags, ["webhook", "activity", "contract", "outcome"]);
    return followStream(context, watchDeliveries, { query }, flags.file, formatLine);
  },
});

const webhooksDeliveries: Command = {
  ...emulatorDeliveries,
  words: ["webhooks", "deliveries"],
  description:
    "The real service shows its log in its application only. With --follow, each attempt is printed when it is made.",
  extendsDerived: "emulator deliveries",
  examples: [{ title: "Print attempts as they happen", argv: ["webhooks", "deliveries", "--follow"] }],
  run: async (input, context, spec) => {
    await requireEmulator(input.flags.file as string | undefined, context);
    await emulatorDeliveries.run(input, context, spec);
  },
};

function formatLine({ id, at, activity, composite_id: contract, outcome, attempt, ...event }: Event): string {
  const contractLabel = contract === null ? "" : ` ${contract}`;
  const skipReason = event.webhook_status === "ACTIVE" ? undefined : event.webhook_status;
  // A retry that will be skipped is no retry.
  const outcomeLabel = skipReason !== undefined && event.next_attempt_at !== null ? "" : `, ${outcome}`;
  const attemptLabel =
    attempt === null
      ? outcome
      : `${attempt.resend ? "resend" : `attempt ${attempt.scheduled_number}`}: ${describeResponse(attempt)}${formatFault(attempt)}${outcomeLabel}`;
  const next = event.next_attempt_at === null ? "" : formatNextAttempt(event.next_attempt_at, skipReason);
  return `${at} delivery ${id} ${activity}${contractLabel} ${attemptLabel}${next}`;
}

const formatFault = ({ fault }: Delivery["attempts"][number]): string =>
  fault === null ? "" : ` (fault: ${fault.effect})`;

export const describeResponse = (attempt: Pick<Attempt, "status" | "error"> | undefined): string | undefined =>
  attempt && (attempt.error?.code ?? `status ${attempt.status}`);

const defaultPlannedRows = 50;

const webhooksSchedule = defineCommand({
  words: ["webhooks", "schedule"],
  summary: "Show when webhooks are retried, and why",
  description:
    "Lists the attempts that the running emulator plans, with the reason for each. With --rule, prints the schedule of a delivery whose receiver never responds 2xx. The schedule comes from the running emulator's webhooks if all have the same one, or else from the specification. The sixth failure in a row disables the webhook, so the sixth retry runs only if the webhook is enabled again.",
  flags: [
    createSwitch("rule", "Print the retry rule for a delivery at --from"),
    createTextFlag("from", "TIME", "ISO time of the first attempt (default: now, wall clock)"),
    createSwitch("worker-tick", "Round attempts up to whole minutes, as the real worker does"),
    createIntegerFlag("limit", "Maximum number of planned attempts", { min: 1, default: defaultPlannedRows }),
    createSwitch("all", "Show all planned attempts"),
    createTextFlag("file", "FILE", "State file of the running emulator"),
  ],
  examples: [
    ["Show the planned attempts of the emulator", "webhooks schedule"],
    ["Show the schedule for a dead receiver", "webhooks schedule --rule --from 2031-01-02T03:04:05Z"],
  ],
  async run(input, context) {
    const { flags } = input;
    if (flags.rule) {
      for (const name of ["limit", "all"] as const)
        if (flags[name] !== undefined) throw new UsageError(`--${name} cannot be used with --rule`);
      const start = flags.from === undefined ? context.host.wall.now() : parseTimeFlag(flags.from, "--from");
      const schedule = await findSchedule(flags.file, context);
      const rows = createRuleRows(schedule, start, flags["worker-tick"] === true);
      await context.output.show(rows, {
        columns: ["attempt", "at", "after", { name: "reason", shrinkPriority: 1, minWidth: 24, purpose: true }],
      });
      return undefined;
    }
    if (flags.from !== undefined || flags["worker-tick"])
      throw new UsageError("--from and --worker-tick require --rule");
    const rows = await listPlannedRows(flags.file, context);
    const shownRows = flags.all ? rows : rows.slice(0, flags.limit ?? defaultPlannedRows);
    await context.output.show(shownRows, {
      columns: [
        "at",
        "delivery",
        "webhook_id",
        { name: "activity", shrinkPriority: 2, minWidth: 12, omits: "start" },
        "composite_id",
        "attempt",
        { name: "reason", shrinkPriority: 1, minWidth: 46, purpose: true },
      ],
      emptyMessage: "No planned attempts",
    });
    await reportMoreRows(plannedPaging, { rows: shownRows, total: rows.length }, {}, context);
  },
});

const plannedPaging = { rows: "rows", total: "total", maxPerPage: Number.POSITIVE_INFINITY } as const;

/** Returns the schedule that all webhooks of the running emulator have, or else that of the specification. */
async function findSchedule(file: string | undefined, context: Context): Promise<RetrySchedule> {
  // The rule needs no emulator, so none is started.
  const webhooks = context.globals.emulator ? [] : await listWebhooks(file, context);
  const schedules = new Map(webhooks.map(({ retry_schedule }) => [retry_schedule.join(), retry_schedule]));
  const [shared] = schedules.size === 1 ? schedules.values() : [];
  await context.output.note(
    `This is the schedule of ${shared ? "the webhooks of the running emulator" : "the specification"}.`,
  );
  return shared ?? specifiedRetrySchedule;
}

/** Lists the webhooks of the emulator, or none if no emulator is running, unless the user selected it by its file. */
async function listWebhooks(file: string | undefined, context: Context): Promise<readonly Webhook[]> {
  try {
    const client = await openEmulatorClient(file, context);
    return await client.call(listControlWebhooks, {}, { retries: 0 });
  } catch (error) {
    const code = error instanceof CommandFailedError ? error.code : undefined;
    const isAbsent = error instanceof NetworkError || code === "no_emulator" || code === "only_emulator";
    if (file !== undefined || !isAbsent) throw error;
    context.signal.throwIfAborted();
    return [];
  }
}

const formatDelay = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000} minutes` : describeDuration(ms));

/** Lists the attempts of a delivery without a 2xx response. The sixth failure disables the webhook. */
function createRuleRows(schedule: RetrySchedule, start: number, workerTick: boolean) {
  const rows = [{ attempt: 1, at: toIsoMillis(start), after: "0 minutes", reason: "immediately" }];
  let last = start;
  for (const i of schedule.keys()) {
    const failures = i + 1;
    const delay = getRetryDelayMs(schedule, failures)!;
    const at = computeNextAttempt(schedule, failures, last, workerTick)!;
    const roundingNote = at === last + delay ? "" : ", rounded up to the next whole minute";
    const disabledNote =
      failures === failuresUntilDisabled
        ? ` (skipped unless the webhook is enabled again: ${failures} consecutive failures disable it)`
        : "";
    rows.push({
      attempt: failures + 1,
      at: toIsoMillis(at),
      after: formatDelay(Math.round((at - start) / 1_000) * 1_000),
      reason: `${formatDelay(delay)} after failed attempt ${failures}${roundingNote}${disabledNote}`,
    });
    last = at;
  }
  return rows;
}

async function listPlannedRows(file: string | undefined, context: Context) {
  const client = await context.client("emulator", { file });
  const webhooks = await client.call(listControlWebhooks);
  const { deliveries: waiting } = await readDeliveryLog(client, { outcome: "waiting" });
  const { deliveries: retrying } = await readDeliveryLog(client, { outcome: "retrying" });
  const findWebhook = (webhookId: number) => webhooks.find(({ id }) => id === webhookId);
  return [...waiting, ...retrying]
    .map((delivery) => toPlannedRow(delivery, findWebhook(delivery.webhook_id)))
    .sort((a, b) => (a.at ?? "").localeCompare(b.at ?? "") || a.delivery - b.delivery);
}

function toPlannedRow(delivery: Delivery, webhook: Webhook | undefined) {
  const { id, webhook_id, activity, contract_id, composite_id, next_attempt_at: at, attempts } = delivery;
  const attempt = filterScheduled(attempts).length + 1;
  const reason = getReason(delivery, webhook);
  return { at, delivery: id, webhook_id, activity, contract_id, composite_id, attempt, reason };
}

function getReason({ attempts, next_attempt_at: at, postponement }: Delivery, webhook: Webhook | undefined): string {
  const scheduled = filterScheduled(attempts);
  const last = scheduled.at(-1);
  const postponementNote =
    postponement &&
    `postponed by a scripted fault: ${postponement.effect}${postponement.by === null ? "" : ` (${postponement.by})`}`;
  const turn =
    last === undefined || at === null
      ? `first attempt${postponementNote ? "" : ", immediately"}`
      : `${formatDelay(Date.parse(at) - Date.parse(last.at))} after failed attempt ${scheduled.length} (${last.error?.code ?? `status ${last.status}`})`;
  const description = postponementNote ? `${turn}, ${postponementNote}` : turn;
  if (webhook === undefined) return `${description}; will be skipped: the webhook is deleted`;
  if (webhook.status !== "ACTIVE") return `${description}; will be skipped: the webhook is ${webhook.status}`;
  const remainingFailures = failuresUntilDisabled - webhook.failure_count;
  return remainingFailures === 1 ? `${description}; one more failure disables the webhook` : description;
}

export const commands: readonly Command[] = [emulatorDeliveries, webhooksDeliveries, webhooksSchedule];
