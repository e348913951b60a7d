import { listDeliveries } from "../../../api/emulator/deliveries.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { filterScheduled } from "../../../api/webhook-health/attempts.ts";
import {
  computeNextAttempt,
  failuresUntilDisabled,
  getRetryDelayMs,
  specifiedRetrySchedule,
} from "../../../api/webhook-retries.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { UsageError } from "../../process/failure.ts";

type Delivery = ResultOf<typeof listDeliveries>["items"][number];
type Webhook = ResultOf<typeof listControlWebhooks>[number];

const webhooksSchedule = defineCommand({
  words: ["webhooks", "schedule"],
  summary: "Show when webhooks are retried, and why",
  description:
    "Lists the attempts that the running emulator plans, with the reason for each. With --rule, prints the schedule of a delivery whose receiver never responds 2xx, without an emulator.",
  positionals: [],
  flags: [
    { flag: "rule", type: "switch", description: "Print the retry rule for a delivery at --from" },
    {
      flag: "from",
      type: "text",
      placeholder: "TIME",
      description: "ISO time of the first attempt (default: now, wall clock)",
    },
    { flag: "worker-tick", type: "switch", description: "Round attempts up to whole minutes, as the real worker" },
    { flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" },
  ],
  examples: [
    { title: "Show the planned attempts of the emulator", argv: ["webhooks", "schedule"] },
    {
      title: "Show the schedule for a dead receiver",
      argv: ["webhooks", "schedule", "--rule", "--from", "2031-01-02T03:04:05Z"],
    },
  ],
  async run(input, context) {
    const { flags } = input;
    if (flags.rule) {
      const rows = createRuleRows(resolveStart(flags.from, context), flags["worker-tick"] === true);
      await context.output.show(rows, {
        columns: ["attempt", "at", "after", { name: "reason", cut: 1, least: 24, purpose: true }],
      });
      return undefined;
    }
    if (flags.from !== undefined || flags["worker-tick"])
      throw new UsageError("--from and --worker-tick require --rule");
    await context.output.show(await listPlannedRows(flags.file, context), {
      columns: [
        "at",
        "delivery",
        "webhook_id",
        { name: "activity", cut: 2, least: 12, omits: "start" },
        "composite_id",
        "attempt",
        { name: "reason", cut: 1, least: 46, purpose: true },
      ],
      emptyMessage: "No planned attempts",
    });
    return undefined;
  },
});

function resolveStart(text: string | undefined, { host }: Context): number {
  if (text === undefined) return host.wall.now();
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new UsageError(`--from must be a time (2031-01-02T03:04:05Z), got "${text}"`);
  return ms;
}

const formatMinutes = (ms: number): string => `${ms / 60_000} minutes`;
const toIso = (ms: number): string => new Date(ms).toISOString();

/** The seven attempts of a delivery without a 2xx response. The sixth failure disables the subscription. */
function createRuleRows(start: number, workerTick: boolean) {
  const rows = [{ attempt: 1, at: toIso(start), after: "0 minutes", reason: "immediately" }];
  let last = start;
  for (const i of specifiedRetrySchedule.keys()) {
    const failures = i + 1;
    const delay = getRetryDelayMs(specifiedRetrySchedule, failures)!;
    const at = computeNextAttempt(specifiedRetrySchedule, failures, last, workerTick)!;
    const rounded = at === last + delay ? "" : ", rounded up to the next whole minute";
    const disabled =
      failures === failuresUntilDisabled
        ? ` (skipped unless the webhook is enabled again: ${failures} consecutive failures disable it)`
        : "";
    rows.push({
      attempt: failures + 1,
      at: toIso(at),
      after: formatMinutes(Math.round((at - start) / 1_000) * 1_000),
      reason: `${formatMinutes(delay)} after failed attempt ${failures}${rounded}${disabled}`,
    });
    last = at;
  }
  return rows;
}

/** Lists every attempt that the emulator plans, the next one first. */
async function listPlannedRows(file: string | undefined, context: Context) {
  const { signal } = context;
  const client = await context.client("emulator", { file });
  const webhooks = await client.call(listControlWebhooks, {}, { signal });
  const planned: Delivery[] = [];
  for (const outcome of ["waiting", "retrying"] as const) {
    for (let offset = 0; ; ) {
      const query = { outcome, limit: 500, offset };
      const { items, total } = await client.call(listDeliveries, { query }, { signal });
      planned.push(...items);
      offset += items.length;
      if (items.length === 0 || offset >= total) break;
    }
  }
  return planned
    .map((delivery) =>
      toPlannedRow(
        delivery,
        webhooks.find(({ id }) => id === delivery.webhook_id),
      ),
    )
    .sort((a, b) => (a.at ?? "").localeCompare(b.at ?? "") || a.delivery - b.delivery);
}

function toPlannedRow(delivery: Delivery, webhook: Webhook | undefined) {
  const { id, webhook_id, activity, contract_id, composite_id, next_attempt_at: at, attempts } = delivery;
  return {
    at,
    delivery: id,
    webhook_id,
    activity,
    contract_id,
    composite_id,
    attempt: filterScheduled(attempts).length + 1,
    reason: getReason(delivery, webhook),
  };
}

function getReason({ attempts, next_attempt_at: at, postponement }: Delivery, webhook: Webhook | undefined): string {
  const last = filterScheduled(attempts).at(-1);
  const by =
    postponement &&
    `postponed by a scripted fault: ${postponement.effect}${postponement.by === null ? "" : ` (${postponement.by})`}`;
  const turn =
    last === undefined || at === null
      ? `first attempt${by ? "" : ", immediately"}`
      : `${formatMinutes(Date.parse(at) - Date.parse(last.at))} after failed attempt ${last.number} (${last.error?.code ?? `status ${last.status}`})`;
  const when = by ? `${turn}, ${by}` : turn;
  if (webhook === undefined) return `${when}; will be skipped: the webhook is deleted`;
  if (webhook.status !== "ACTIVE") return `${when}; will be skipped: the webhook is ${webhook.status}`;
  const left = failuresUntilDisabled - webhook.failure_count;
  return left === 1 ? `${when}; one more failure disables the webhook` : when;
}

export const commands: readonly Command[] = [webhooksSchedule];
