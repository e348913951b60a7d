import { activities } from "../../../api/activities.ts";
import { contractStatuses } from "../../../api/contracts/lifecycle.ts";
import { advanceClock, showClock } from "../../../api/emulator/clock.ts";
import { wait } from "../../../api/emulator/wait.ts";
import type { ArgumentsOf, ResultOf } from "../../../api/operation.ts";
import { deliveryOutcomes } from "../../../api/webhook-retries.ts";
import { isOneOf } from "../../../base/object.ts";
import { describeDuration } from "../../../base/quantities.ts";
import type { Client } from "../../../client/client.ts";
import { createIntegerFlag, createSwitch, createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { pickGiven } from "../../parse/values.ts";
import { CommandFailedError, InputRequiredError, PartialFailureError, UsageError } from "../../process/failure.ts";
import { withSpinner } from "../../prompt/terminal.ts";

type Query = NonNullable<ArgumentsOf<typeof wait>["query"]>;
type MatchedEvents = ResultOf<typeof wait>;

/** Maximum duration of one long poll, because proxies and clients end silent requests. */
const maxPollMs = 20_000;

const flags = [
  createTextFlag("activity", "NAME", "Activity to wait for", { choices: activities }),
  createTextFlag("outcome", "NAME", "Outcome of a delivery to wait for", { choices: deliveryOutcomes }),
  createTextFlag("status", "STATUS", `Contract status to wait for: ${contractStatuses.join(", ")}`, {
    suggestions: contractStatuses,
  }),
  createTextFlag("contract", "ID", "Contract: 12 or T-12"),
  createIntegerFlag("webhook", "Webhook whose deliveries count, with --outcome"),
  createIntegerFlag("count", "Number of matches", { min: 1, default: 1 }),
  createSwitch("new", "Ignore what has already happened"),
  createTextFlag("within", "DURATION", "Maximum advance of virtual time (PT2H35M)"),
  createTextFlag("wait-timeout", "DURATION", "Maximum wait on the wall clock, then exit 75", { default: "30s" }),
  createTextFlag("file", "FILE", "State file of the running emulator"),
] as const satisfies readonly FlagSpec[];

const emulatorWaitFor = defineCommand({
  words: ["emulator", "wait-for"],
  summary: "Wait for an activity, a delivery or a contract status",
  description:
    "Past activities and deliveries count, unless --new is given. With --within, virtual time advances step by step. Without it, the command waits on the wall clock. When the wait times out, it prints the current status and exits 75.",
  flags,
  examples: [
    ["Wait until everyone has signed", "emulator wait-for --contract T-1 --status EXECUTED"],
    [
      "Advance the clock for up to an hour until the event is delivered",
      "emulator wait-for --activity CONTRACT_SIGNED --outcome delivered --within PT1H",
    ],
  ],
  async run(input, context) {
    const base = parseQuery(input);
    const { within: longest, "wait-timeout": timeout = "30s" } = input.flags;
    const within = longest === undefined ? undefined : parseDurationFlag(longest, "--within");
    const timeoutMs = parseDurationFlag(timeout, "--wait-timeout");
    const { output } = context;
    const client = await context.client("emulator", { file: input.flags.file });
    const { now } = await client.call(showClock);
    const query = input.flags.new ? { ...base, since: now } : base;
    const waiting = { client, query, context, deadline: context.host.wall.monotonicNow() + timeoutMs };
    const end = within === undefined ? undefined : Date.parse(now) + within;
    const matches = await withSpinner(
      context,
      `Waiting for ${describeQuery(query)}${within === undefined ? "" : `, at most ${describeDuration(within)} of virtual time`}`,
      () => (end === undefined ? waitInWallTime(waiting) : waitInVirtualTime(waiting, end)),
      { tellsTime: true },
    );
    if (!matches.reached) {
      const isTimedOut = end !== undefined && Date.parse(matches.now) >= end;
      const waitText = isTimedOut ? `${describeDuration(within!)} of virtual time` : describeDuration(timeoutMs);
      throw createNotReachedError(query, matches, waitText);
    }
    await output.show(matches.contract ?? (query.outcome ? matches.deliveries : matches.activities));
  },
});

interface WaitState {
  readonly client: Client;
  readonly query: Query;
  readonly context: Context;
  readonly deadline: number;
}

const fetchMatches = ({ client, query }: WaitState, timeoutMs: number): Promise<MatchedEvents> =>
  client.call(wait, { query: { ...query, timeout_ms: timeoutMs } }, { timeoutMs: timeoutMs + 10_000 });

async function waitInWallTime(waiting: WaitState): Promise<MatchedEvents> {
  for (;;) {
    const remainingMs = Math.max(0, waiting.deadline - waiting.context.host.wall.monotonicNow());
    const matches = await fetchMatches(waiting, Math.min(remainingMs, maxPollMs));
    if (matches.reached || remainingMs <= maxPollMs) return matches;
  }
}

/** Advances from one due entry to the next, at most to `end` (virtual milliseconds). */
async function waitInVirtualTime(waiting: WaitState, end: number): Promise<MatchedEvents> {
  const { client, context, deadline } = waiting;
  const { host } = context;
  let movedTo: string | undefined;
  const rethrow = (error: unknown): never => {
    throw movedTo === undefined ? error : new PartialFailureError(error, [`Virtual time was advanced to ${movedTo}`]);
  };
  for (;;) {
    const matches = await fetchMatches(waiting, 0).catch(rethrow);
    const { now, next_due: due } = await client.call(showClock).catch(rethrow);
    if (matches.reached || Date.parse(now) >= end || host.wall.monotonicNow() > deadline) return matches;
    const isInReach = due !== null && Date.parse(due) <= end && Date.parse(due) > Date.parse(now);
    const body = { to: isInReach ? due : new Date(end).toISOString() };
    const { to } = await client.call(advanceClock, { body }).catch(rethrow);
    movedTo = to;
  }
}

function parseQuery({ flags: options }: CommandInputOf<typeof flags>): Query {
  const { activity, outcome, contract, webhook, count } = options;
  const status = options.status?.toUpperCase().replaceAll("-", "_");
  if (status !== undefined && !isOneOf(contractStatuses, status)) {
    throw new UsageError(`--status must be one of ${contractStatuses.join(", ")}, got "${options.status}"`);
  }
  if (activity === undefined && outcome === undefined && status === undefined) {
    const [filter] = Object.keys(pickGiven(options, ["contract", "webhook"]));
    const use = filter === undefined ? "" : ` with --${filter}`;
    throw new InputRequiredError("activity", `--activity, --outcome or --status is required${use}`);
  }
  if (status !== undefined && (activity ?? outcome) !== undefined) {
    throw new UsageError("--status cannot be used with --activity or --outcome");
  }
  if (status !== undefined && contract === undefined)
    throw new InputRequiredError("contract", "--contract is required with --status");
  if (webhook !== undefined && outcome === undefined)
    throw new InputRequiredError("outcome", "--outcome is required with --webhook");
  return { activity, outcome, contract_status: status, contract, webhook, count };
}

function describeQuery({ activity, outcome, contract_status, contract, count }: Query): string {
  const countText = count === undefined || count === 1 ? "" : `${count} times `;
  const target = contract_status ?? ([activity, outcome].filter(Boolean).join(" ") || undefined);
  return `${countText}${target}${contract === undefined ? "" : ` of ${contract}`}`;
}

function createNotReachedError(query: Query, matches: MatchedEvents, waitText: string): CommandFailedError {
  const status =
    matches.contract &&
    `${matches.contract.composite_id} is ${matches.contract.contract_status}, not ${query.contract_status}`;
  const closest = [
    ...matches.activities.map((activity) => `${activity.activity}${formatContract(activity)} at ${activity.at}`),
    ...matches.deliveries.map(
      (delivery) => `delivery ${delivery.id} ${delivery.activity}${formatContract(delivery)}: ${delivery.outcome}`,
    ),
  ];
  const nearest = closest.length === 0 ? "" : `Seen: ${closest.slice(0, 5).join("; ")}.`;
  const message =
    status == null
      ? `Timed out after ${waitText} waiting for ${describeQuery(query)} (virtual time: ${matches.now}).`
      : `Timed out after ${waitText}: ${status}.`;
  const isUnsent = matches.contract?.contract_status === "DRAFT";
  const unsentHint = isUnsent ? "Send the contract first, because the passing of time does not send it." : "";
  const hint = [unsentHint, nearest].filter(Boolean).join(" ") || undefined;
  // Signatories of contracts sent before --auto-sign do not sign automatically.
  const isUnsigned = query.contract_status === "EXECUTED" && matches.contract?.contract_status === "SIGN";
  const id = matches.contract?.composite_id ?? "";
  const isHeld = matches.contract?.contract_status === "ON_HOLD";
  const verb = isUnsigned ? ["emulator", "sign"] : isHeld ? ["emulator", "resume"] : ["contracts", "send"];
  const next = isUnsigned || isHeld || isUnsent ? [...verb, id] : undefined;
  return new CommandFailedError("temporary", "wait_timeout", message, { hint, next });
}

const formatContract = ({ composite_id: contract }: { readonly composite_id: string | null }): string =>
  contract === null ? "" : ` of ${contract}`;

export const commands: readonly Command[] = [emulatorWaitFor];
