import type { listDeliveries } from "../../api/emulator/deliveries.ts";
import type { showTrace } from "../../api/emulator/traces.ts";
import type { listControlWebhooks } from "../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../api/operation.ts";
import { failuresUntilDisabled } from "../../api/webhook-retries.ts";
import { paintedState, paintedStatus } from "../output/states.ts";
import { bold, dim, type Line, red } from "../output/styled.ts";

type Webhook = ResultOf<typeof listControlWebhooks>[number];
type Delivery = ResultOf<typeof listDeliveries>["items"][number];
type Trace = Pick<ResultOf<typeof showTrace>, "nodes" | "planned">;
type Attempt = ReturnType<typeof attemptsOf>[number];
export type Findings = ReturnType<typeof findings>;

/** So many of each are shown to people. */
const shownAttempts = 12;
const shownCauses = 5;
const shownDeliveries = 5;

/**
 * What the deliveries of a webhook say, newest first, and their traces, which reach less far back: times are virtual, and
 * what is not known is null.
 */
export function findings(
  webhook: Webhook,
  deliveries: readonly Delivery[],
  trace: Trace,
  lastAnswer: string | null = null,
) {
  const attempts = attemptsOf(deliveries, trace);
  const lastGood = attempts.findLastIndex(({ ok }) => ok);
  const failed = attempts.slice(lastGood + 1);
  const last = failed.at(-1);
  const next = deliveries.flatMap(({ next_attempt_at: at }) => at ?? []).sort()[0] ?? null;
  const ended = deliveries.filter(({ outcome }) => outcome.startsWith("skipped_")).map(unsent);
  const skipped = ended.filter(({ attempts: made }) => made === 0);
  const { id, title, url, status, failure_count, forbidden } = webhook;
  const isUnreached = attempts.length === 0 && (skipped.length > 0 || deliveries.length === 0);
  return {
    webhook: { id, title, url, status, failure_count, only_for_activities: webhook.only_for_activities },
    failing: status !== "ACTIVE" || failed.length > 0 || isUnreached || forbidden !== null,
    disabled: webhook.disabled_at === null ? null : { at: webhook.disabled_at, by: webhook.disabled_by },
    since: failed[0]?.at ?? null,
    because_of: causesOf(failed, trace),
    last_delivered_at: attempts[lastGood]?.at ?? null,
    last_error: last ? (last.error?.message ?? `status ${last.status}`) : null,
    last_answer: last ? lastAnswer : null,
    skipped: skipped.length,
    skipped_deliveries: skipped,
    cut_short_deliveries: ended.filter(({ attempts: made }) => made > 0),
    given_up_deliveries: deliveries.filter(({ outcome }) => outcome === "failed").map(unsent),
    not_allowed: forbidden !== null,
    why_not_allowed: forbidden,
    next_attempt_at: next,
    next_because:
      trace.planned.find(({ due, parent }) => due === next && parent.startsWith("delivery:"))?.because ?? null,
    enable: status === "ACTIVE" ? null : `svc emulator webhooks enable ${id}`,
    attempts,
  };
}

const unsent = ({ id, activity, composite_id, created_at, outcome, attempts }: Delivery) => ({
  id,
  activity,
  composite_id,
  created_at,
  outcome,
  attempts: attempts.length,
});

/** Those that nothing reaches any more first, then those that fail still, those that nothing came to, and the others. */
export const worstFirst = (all: readonly Findings[]): Findings[] =>
  all.toSorted(
    (a, b) =>
      badness(b) - badness(a) || b.webhook.failure_count - a.webhook.failure_count || a.webhook.id - b.webhook.id,
  );

function badness({ webhook: { status }, failing, not_allowed: forbidden, since }: Findings): number {
  if (status === "DISABLED_BY_ERROR") return 5;
  if (forbidden) return 4;
  if (status === "DISABLED_BY_USER") return 3;
  if (since !== null) return 2;
  return failing ? 1 : 0;
}

/** All of them, in the order in which they were made. */
function attemptsOf(deliveries: readonly Delivery[], { nodes }: Trace) {
  const reasons = new Map(nodes.map((node) => [node.id, node.because]));
  return deliveries
    .flatMap(({ attempts: made, id, activity, composite_id }) =>
      made.map(({ at, number, status, error }) => ({
        at,
        delivery: id,
        activity,
        composite_id,
        number,
        status,
        error,
        ok: status !== null && status >= 200 && status < 300,
        because: reasons.get(`attempt:${id}.${number}`) ?? null,
      })),
    )
    .sort((a, b) => a.at.localeCompare(b.at) || a.delivery - b.delivery || a.number - b.number);
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
  const { webhook, since, last_delivered_at: good, last_error: error, attempts } = found;
  const heading: Line = [
    bold(`Webhook ${webhook.id}`),
    `  ${webhook.title}  ${webhook.url}  `,
    paintedState(webhook.status),
  ];
  const omitted = attempts.length - shownAttempts;
  return [
    heading,
    "",
    ...verdict(found),
    ...(since === null ? [] : [[`Failing since ${since}: `, red(String(error))] as Line]),
    ...(found.last_answer === null ? [] : [[`It answered: ${found.last_answer}`] as Line]),
    ...because(found),
    ...(good === null ? [] : [`Last delivered ${good}`]),
    ...(attempts.length === 0
      ? []
      : ["", omitted > 0 ? `The last ${shownAttempts} of ${attempts.length} attempts:` : "Attempts:"]),
    ...attempts.slice(-shownAttempts).map(attemptLine),
    ...deliveryLines("Passed over while it was disabled or not allowed", found.skipped_deliveries),
    ...deliveryLines("Not tried again, for it was disabled when that came due", found.cut_short_deliveries),
    ...deliveryLines("Given up after the last retry", found.given_up_deliveries),
    ...whatNow(found),
  ];
}

/** What happens by itself, then what somebody may do, in the order in which to do it. */
function whatNow(found: Findings): Line[] {
  const { enable, next_attempt_at: next, failing, given_up_deliveries: givenUp } = found;
  const lines: Line[] = [];
  if (next !== null) lines.push(nextLine(next, found));
  else if (failing && givenUp.length > 0) lines.push("Nothing is sent again by itself: no retry is left.");
  if (enable !== null) lines.push(`To enable it again, once the receiver is repaired: ${enable}`);
  const toSend = [...found.skipped_deliveries, ...found.cut_short_deliveries, ...givenUp].sort(
    (a, b) => a.created_at.localeCompare(b.created_at) || a.id - b.id,
  );
  if (toSend.length > 0) lines.push(resendLine(toSend.map(({ id }) => id)));
  return lines.length === 0 ? [] : ["", ...lines];
}

const resendLine = ([first, ...others]: readonly number[]): string => {
  const shown = others.slice(0, shownDeliveries - 1).map((id) => `, then ${id}`);
  const more = others.length >= shownDeliveries ? ", and so on" : "";
  return `To send what did not arrive, oldest first: svc emulator deliveries resend ${first}${shown.join("")}${more}`;
};

function because({ because_of: causes }: Findings): Line[] {
  const more = causes.length - shownCauses;
  return [
    ...causes.slice(0, shownCauses).map(({ id, what, at }): Line => [`Because of ${id}  ${what}`, dim(`  ${at}`)]),
    ...(more > 0 ? [`Because of ${more} more`] : []),
  ];
}

/** The newest of them, under a heading that counts all. */
function deliveryLines(heading: string, all: Findings["skipped_deliveries"]): Line[] {
  if (all.length === 0) return [];
  const more = all.length - shownDeliveries;
  return [
    "",
    `${heading}: ${all.length}`,
    ...all
      .slice(0, shownDeliveries)
      .map(
        ({ id, activity, composite_id: contract, created_at: at }): Line =>
          `  ${at}  delivery:${id}  ${activity}${contract === null ? "" : ` ${contract}`}`,
      ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** While it is disabled, what comes due is skipped (DECISIONS.md, C18). */
const nextLine = (at: string, { enable, next_because: why }: Findings): Line => [
  enable === null
    ? `Next attempt ${at}; now: svc emulator clock advance --next`
    : `Next attempt ${at}: skipped, unless it is enabled before`,
  dim(why === null || enable !== null ? "" : `  ${why}`),
];

function verdict({ webhook, disabled, attempts, skipped, why_not_allowed: forbidden }: Findings): Line[] {
  const since = disabled === null ? "" : ` ${disabled.at}${disabled.by === null ? "" : `, by ${disabled.by}`}`;
  if (webhook.status === "DISABLED_BY_ERROR") {
    const after = `after ${failuresUntilDisabled} failures in a row`;
    return [`Disabled${since}${since && ","} ${after}; nothing is sent to it.`];
  }
  if (webhook.status === "DISABLED_BY_USER") return [`Disabled by a person${since}; nothing is sent to it.`];
  if (forbidden !== null) return [`Nothing is ever sent to it: ${forbidden}`];
  if (attempts.length > 0 || skipped > 0) return [];
  const wanted = webhook.only_for_activities.join(", ");
  return [`Nothing was sent yet: it wants ${wanted || "every activity"}, and none has happened.`];
}

const attemptLine = ({ at, number, status, error, activity, composite_id: contract, ok, because }: Attempt): Line => [
  `  ${at}  `,
  status === null ? red(error?.code ?? "no answer") : paintedStatus(status),
  `  attempt ${number}  ${activity}${contract === null ? "" : ` ${contract}`}`,
  dim(`${because === null ? "" : `  ${because}`}${ok ? "  delivered" : ""}`),
];
