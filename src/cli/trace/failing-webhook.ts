import type { showTrace } from "../../api/emulator/traces.ts";
import type { ResultOf } from "../../api/operation.ts";
import { type Delivery, scheduledOf, succeeded, turnName } from "../../api/webhook-health/attempts.ts";
import { type Health, inOrder, type Made, type Webhook } from "../../api/webhook-health/health.ts";
import { paintedState, paintedStatus } from "../output/states.ts";
import { bold, dim, type Line, red } from "../output/styled.ts";

type Trace = Pick<ResultOf<typeof showTrace>, "nodes" | "planned">;
export type Findings = ReturnType<typeof findings>;
type Attempt = ReturnType<typeof attemptsOf>[number];

/** So many of each are shown to people. */
const shownAttempts = 12;
const shownCauses = 5;
const shownDeliveries = 5;

/** One that is gone, of which the deliveries alone are left. */
export type Gone = Pick<Webhook, "id" | "workspace_id"> & { readonly status: "DELETED" };

/** What is read of a webhook; without a trace it is not told what led to its attempts. */
export interface Read {
  readonly webhook: Webhook | Gone;
  readonly health: Health;
  readonly deliveries: readonly Delivery[];
  /** Virtual time when they were read, in milliseconds. */
  readonly now: number;
  readonly trace?: Trace | undefined;
}

/** All that is said of a webhook, for programs: times are virtual, and what is not known is null. */
export function findings({ webhook, health, deliveries, now, trace }: Read) {
  const attempts = attemptsOf(deliveries, trace);
  const next = deliveries.flatMap(({ next_attempt_at: at }) => at ?? []).sort()[0] ?? null;
  const ended = deliveries.filter(({ outcome }) => outcome.startsWith("skipped_"));
  const skipped = ended.filter(({ attempts: made }) => made.length === 0).map(unsent);
  const { disabled_at = null, disabled_by = null, forbidden = null } = "title" in webhook ? webhook : {};
  return {
    webhook: "title" in webhook ? subscribed(webhook) : webhook,
    state: health.state.words,
    failing: health.failing,
    disabled: disabled_at === null ? null : { at: disabled_at, by: disabled_by },
    since: health.since,
    because_of: trace ? causesOf(attempts.slice(attempts.findLastIndex(({ ok }) => ok) + 1), trace) : null,
    last_delivered_at: health.deliveredAt,
    last_error: health.trouble,
    last_answer: health.answer,
    why: health.why,
    short: health.short,
    skipped: skipped.length,
    skipped_deliveries: skipped,
    cut_short_deliveries: ended.filter(({ attempts: made }) => scheduledOf(made).length > 0).map(unsent),
    resent_deliveries: ended
      .filter(({ attempts: made }) => made.length > 0 && scheduledOf(made).length === 0)
      .map(unsent),
    given_up_deliveries: deliveries.filter(({ outcome }) => outcome === "failed").map(unsent),
    unsent_deliveries: health.unsent.map(({ id }) => id),
    not_allowed: forbidden !== null,
    why_not_allowed: forbidden,
    next_attempt_at: next,
    next_attempt_is_due: next !== null && Date.parse(next) <= now,
    next_because:
      trace?.planned.find(({ due, parent }) => due === next && parent.startsWith("delivery:"))?.because ?? null,
    steps: health.steps.map(({ words, command = null }) => ({ words, command })),
    attempts,
  };
}

const subscribed = ({ id, title, url, status, workspace_id, workspace, failure_count, ...rest }: Webhook) => ({
  id,
  title,
  url,
  status,
  workspace_id,
  workspace,
  failure_count,
  only_for_activities: rest.only_for_activities,
});

const unsent = ({ id, activity, composite_id, created_at, outcome, attempts }: Delivery) => ({
  id,
  activity,
  composite_id,
  created_at,
  outcome,
  attempts: attempts.length,
});

/** Those that nothing reaches any more first, then those that fail still, those that nothing came to, and the others. */
export const worstFirst = (all: readonly Read[]): Read[] =>
  all.toSorted((a, b) => badness(b) - badness(a) || failures(b) - failures(a) || a.webhook.id - b.webhook.id);

function badness({ webhook, health: { failing, since } }: Read): number {
  if (webhook.status === "DISABLED_BY_ERROR") return 5;
  if (webhook.status === "DELETED") return 1;
  if (webhook.forbidden !== null) return 4;
  if (webhook.status === "DISABLED_BY_USER") return 3;
  if (since !== null) return 2;
  return failing ? 1 : 0;
}

const failures = ({ webhook }: Read): number => (webhook.status === "DELETED" ? 0 : webhook.failure_count);

/** All of them, in the order in which they were made. */
function attemptsOf(deliveries: readonly Delivery[], trace: Trace | undefined) {
  const reasons = new Map(trace?.nodes.map((node) => [node.id, node.because]));
  return deliveries
    .flatMap((delivery) => delivery.attempts.map((attempt): Made => ({ delivery, attempt })))
    .sort(inOrder)
    .map(({ delivery: { id, activity, composite_id, attempts }, attempt }) => ({
      at: attempt.at,
      delivery: id,
      activity,
      composite_id,
      number: attempt.number,
      turn: turnName(attempt, attempts),
      status: attempt.status,
      error: attempt.error,
      fault: attempt.fault,
      ok: succeeded(attempt),
      because: reasons.get(`attempt:${id}.${attempt.number}`) ?? null,
    }));
}

/** What led to the deliveries that fail, each once, in the order in which it happened. */
function causesOf(failed: readonly Attempt[], { nodes }: Trace) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const above = (id: string) => known.get(known.get(id)?.parent ?? "");
  const found = new Map<string, { readonly id: string; readonly at: string; readonly what: string }>();
  for (const { delivery } of failed) {
    const event = above(`delivery:${delivery}`);
    const cause = event && above(event.id);
    if (cause) found.set(cause.id, { id: cause.id, at: cause.at, what: cause.what });
  }
  return [...found.values()];
}

/** The same for people. */
export function findingLines(found: Findings): Line[] {
  const { since, last_delivered_at: good, last_error: error, attempts } = found;
  const omitted = attempts.length - shownAttempts;
  return [
    headingOf(found.webhook),
    "",
    ...(since === null ? [] : [[`Failing since ${since}: `, red(String(error))] as Line]),
    ...(found.last_answer === null ? [] : [[`It answered: ${found.last_answer}`] as Line]),
    ...found.why,
    ...because(found.because_of ?? []),
    ...(good === null ? [] : [`Last delivered ${good}`]),
    ...(attempts.length === 0
      ? []
      : ["", omitted > 0 ? `The last ${shownAttempts} of ${attempts.length} attempts:` : "Attempts:"]),
    ...attempts.slice(-shownAttempts).map(attemptLine),
    ...deliveryLines("Passed over without an attempt", found.skipped_deliveries),
    ...deliveryLines("Passed over, and sent again by hand without success", found.resent_deliveries),
    ...[...cutShort].flatMap(([outcome, heading]) =>
      deliveryLines(
        heading,
        found.cut_short_deliveries.filter((one) => one.outcome === outcome),
      ),
    ),
    ...deliveryLines("Given up after the last retry", found.given_up_deliveries),
    ...whatNow(found),
  ];
}

/** Why those are not tried again that were tried before. */
const cutShort = new Map([
  ["skipped_disabled", "Not tried again, for it was disabled when that came due"],
  ["skipped_not_allowed", "Not tried again, for its address was not allowed when that came due"],
  ["skipped_deleted", "Not tried again, for it was deleted when that came due"],
]);

function headingOf(webhook: Findings["webhook"]): Line {
  const name = bold(`Webhook ${webhook.id}`);
  if (!("title" in webhook)) return [name, `  workspace ${webhook.workspace_id}  `, paintedState(webhook.status)];
  const { title, url, status, workspace_id: id, workspace } = webhook;
  return [name, `  ${title}  ${url}  `, paintedState(status), `  workspace ${id} (${workspace})`];
}

/** What happens by itself, then what somebody may do, in the order in which to do it. A command ends its line. */
function whatNow(found: Findings): Line[] {
  const { next_attempt_at: next, failing, given_up_deliveries: givenUp, steps } = found;
  const lines: Line[] = [];
  if (next !== null) lines.push(nextLine(next, found));
  else if (failing && givenUp.length > 0) lines.push("Nothing is sent again by itself: no retry is left.");
  lines.push(...steps.map(({ words, command }) => (command === null ? words : `${words}: ${command}`)));
  return lines.length === 0 ? [] : ["", ...lines];
}

function because(causes: NonNullable<Findings["because_of"]>): Line[] {
  const more = causes.length - shownCauses;
  return [
    ...causes.slice(0, shownCauses).map(({ id, what, at }): Line => [`Because of ${id}  ${what}`, dim(`  ${at}`)]),
    ...(more > 0 ? [`Because of ${more} more`] : []),
  ];
}

/** The oldest of them, under a heading that counts all. */
function deliveryLines(heading: string, all: Findings["skipped_deliveries"]): Line[] {
  if (all.length === 0) return [];
  const more = all.length - shownDeliveries;
  return [
    "",
    `${heading}: ${all.length}`,
    ...all
      .toSorted((a, b) => a.id - b.id)
      .slice(0, shownDeliveries)
      .map(
        ({ id, activity, composite_id: contract, created_at: at }): Line =>
          `  ${at}  delivery:${id}  ${activity}${contract === null ? "" : ` ${contract}`}`,
      ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** While it is disabled, what comes due is skipped (DECISIONS.md, C18). */
function nextLine(at: string, { webhook: { status }, next_because: why, next_attempt_is_due: isDue }: Findings): Line {
  if (isDue) return `An attempt is due since ${at}: it is under way, or waits for others to end`;
  if (status === "DELETED") return `Next attempt ${at}: skipped`;
  if (status !== "ACTIVE") return `Next attempt ${at}: skipped, unless it is enabled before`;
  return `Next attempt ${at}${why === null ? "" : `, ${why}`}; now: svc emulator clock advance --next`;
}

const attemptLine = ({ at, turn, status, error, activity, composite_id: contract, ok, because }: Attempt): Line => [
  `  ${at}  `,
  status === null ? red(error?.code ?? "no answer") : paintedStatus(status),
  `  ${turn}  ${activity}${contract === null ? "" : ` ${contract}`}`,
  dim(`${because === null ? "" : `  ${because}`}${ok ? "  delivered" : ""}`),
];
