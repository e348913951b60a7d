import { activities } from "../../../api/activities.ts";
import { deliveryOutcomes } from "../../../api/delivery-outcomes.ts";
import { listDeliveries, watchDeliveries } from "../../../api/emulator/deliveries.ts";
import type { Column, ResultOf } from "../../../api/operation.ts";
import { type Attempt, formatNextAttempt } from "../../../api/webhook-health/attempts.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { type EventOf, followStream } from "../../connection/follow.ts";
import { requireEmulator } from "../../connection/target.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { pickGiven } from "../../parse/values.ts";
import { UsageError } from "../../process/failure.ts";
import { describeEmptyFilteredResult } from "../../process/service-message.ts";
import { createExample } from "../../process/shell-words.ts";
import { buildFirstPageQuery, fetchAllPages, findUnknownName, reportMoreRows } from "../../runtime/paging.ts";

type ListedDelivery = ResultOf<typeof listDeliveries>["items"][number];
type Event = EventOf<typeof watchDeliveries>;

export const followFlag = createSwitch("follow", "Print new entries as they happen, until Ctrl-C", { short: "f" });

export const deliveryFlags = [
  createIntegerFlag("webhook", "Show only this webhook"),
  createTextFlag("activity", "NAME", "Show only this activity", { choices: activities }),
  createTextFlag("contract", "ID", "Show only this contract: 12 or T-12"),
  createTextFlag("outcome", "NAME", "Show only this outcome", { choices: deliveryOutcomes }),
  createIntegerFlag("limit", "Maximum number of deliveries, newest first", { min: 1, default: 50 }),
  createSwitch("all", "List all deliveries, with several requests if needed"),
  createTextFlag("file", "FILE", "State file of the running emulator"),
] as const satisfies readonly FlagSpec[];

const webhooksDeliveries = defineCommand({
  words: ["webhooks", "deliveries"],
  summary: "List or follow webhook deliveries",
  description:
    "Reads the log of the running emulator. The real service shows its log only in its application. With --follow, each attempt is printed when it is made.",
  flags: [followFlag, ...deliveryFlags],
  examples: [
    createExample("List the deliveries with their results", "webhooks deliveries"),
    createExample("Follow new deliveries", "webhooks deliveries --follow"),
  ],
  async run(input, context) {
    await requireEmulator(input.flags.file, context);
    return input.flags.follow ? followDeliveries(input, context) : list(input, context);
  },
});

async function list({ flags }: CommandInputOf<typeof deliveryFlags>, context: Context) {
  const client = await context.client("emulator", { file: flags.file });
  const filters = pickGiven(flags, ["webhook", "activity", "contract", "outcome"]);
  const options = { ...filters, ...pickGiven(flags, ["limit"]) };
  const query = buildFirstPageQuery(deliveryPaging, options, flags.all === true);
  const fetch = (part: typeof query) => client.call(listDeliveries, { query: part });
  const first = await fetch(query);
  const page = flags.all === true ? await fetchAllPages(deliveryPaging, "items", first, query, fetch) : first;
  const filterNames = Object.keys(filters);
  const isEmpty = page.items.length === 0;
  await context.output.show(page.items.map(toRow), {
    columns: withAttempts(listDeliveries.cli.columns),
    emptyMessage:
      filterNames.length > 0
        ? describeEmptyFilteredResult(filterNames)
        : "No deliveries. To send a test webhook: svc webhooks trigger",
    emptyReason: isEmpty && !context.globals.quiet ? await findUnknownName(query, client) : undefined,
  });
  await reportMoreRows(deliveryPaging, "items", page, query, context);
}

export const deliveryPaging = { by: "offset", maxPerPage: 500, total: "total" } as const;

/** Extends the output of svc emulator deliveries with the results of earlier attempts before the next one. */
const withAttempts = (columns: readonly Column[]): readonly Column[] => [
  ...columns.slice(0, -1),
  { name: "response", shrinkPriority: 2, minWidth: 18, purpose: true },
  "attempts",
  ...columns.slice(-1),
];

const toRow = ({ attempts, ...delivery }: ListedDelivery) => ({
  ...delivery,
  attempts: attempts.length,
  response: describeResponse(attempts.at(-1)) ?? null,
});

type FollowedFlags = readonly [...typeof deliveryFlags, { readonly flag: "offset"; readonly type: "integer" }];

/** Shows each attempt as it is made, until the run is interrupted or the emulator ends. */
export async function followDeliveries({ flags }: CommandInputOf<FollowedFlags>, context: Context): Promise<undefined> {
  for (const name of ["limit", "offset", "all"] as const) {
    if (flags[name] !== undefined) throw new UsageError(`--${name} cannot be used with --follow`);
  }
  if (flags.outcome === "waiting") {
    throw new UsageError("--outcome waiting cannot be used with --follow");
  }
  const query = pickGiven(flags, ["webhook", "activity", "contract", "outcome"]);
  return followStream(context, watchDeliveries, { query }, flags.file, formatLine);
}

function formatLine({ id, at, activity, composite_id: contract, outcome, attempt, ...event }: Event): string {
  const contractLabel = contract === null ? "" : ` ${contract}`;
  const skipReason = event.webhook_status === "ACTIVE" ? undefined : event.webhook_status;
  // A retry that will be skipped is no retry.
  const outcomeLabel = skipReason !== undefined && event.next_attempt_at !== null ? "" : `, ${outcome}`;
  const attemptLabel =
    attempt === null
      ? outcome
      : `${attempt.resend ? "resend" : `attempt ${attempt.number}`}: ${describeResponse(attempt)}${formatFault(attempt)}${outcomeLabel}`;
  const next = event.next_attempt_at === null ? "" : formatNextAttempt(event.next_attempt_at, skipReason);
  return `${at} delivery ${id} ${activity}${contractLabel} ${attemptLabel}${next}`;
}

const formatFault = ({ fault }: ListedDelivery["attempts"][number]): string =>
  fault === null ? "" : ` (fault: ${fault.effect})`;

export const describeResponse = (attempt: Pick<Attempt, "status" | "error"> | undefined): string | undefined =>
  attempt && (attempt.error?.code ?? `status ${attempt.status}`);

export const commands: readonly Command[] = [webhooksDeliveries];
