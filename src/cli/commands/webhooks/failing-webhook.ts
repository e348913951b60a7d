import type { showTrace } from "../../../api/emulator/traces.ts";
import type { ResultOf } from "../../../api/operation.ts";
import {
  type Delivery,
  describeAttemptOutcome,
  filterScheduled,
  formatAttemptLabel,
  hasSucceeded,
  type Webhook,
} from "../../../api/webhook-health/attempts.ts";
import type { WebhookHealth } from "../../../api/webhook-health/health.ts";
import { compareAttemptTimes, type DeliveryAttempt } from "../../../api/webhook-health/streak.ts";
import {
  bold,
  dim,
  red,
  type StyledLine,
  stripStyles,
  styleState,
  styleStatus,
  wrapLine,
} from "../../output/styled.ts";

type Trace = Pick<ResultOf<typeof showTrace>, "nodes" | "planned">;
type WebhookFindings = ReturnType<typeof buildFindings>;
type Attempt = ReturnType<typeof listAttempts>[number];

export type DeletedWebhook = Pick<Webhook, "id" | "workspace_id"> & { readonly status: "DELETED" };

/** Data for a report about a webhook. Without a trace, the causes of its attempts are unknown. */
export interface WebhookReading {
  readonly webhook: Webhook | DeletedWebhook;
  readonly health: WebhookHealth;
  readonly deliveries: readonly Delivery[];
  readonly now: number;
  readonly trace?: Trace | undefined;
  /** Whether the token is bound to a workspace, so that it cannot advance the clock. */
  readonly isBound?: boolean | undefined;
}

interface FormatOptions {
  readonly all: boolean;
  readonly maxLines: number;
  readonly columns: number;
  readonly isBound: boolean | undefined;
}

/** Creates the findings about a webhook, for programs. Times are virtual. Unknown values are null. */
export function buildFindings({ webhook, health, deliveries, now, trace }: WebhookReading) {
  const attempts = listAttempts(deliveries, trace);
  const next = deliveries.flatMap(({ next_attempt_at: at }) => at ?? []).sort()[0] ?? null;
  const skippedDeliveries = deliveries.filter(({ outcome }) => outcome.startsWith("skipped_"));
  const unattemptedDeliveries = skippedDeliveries.filter(({ attempts }) => attempts.length === 0).map(toUnsentDelivery);
  const { disabled_at = null, disabled_by = null, forbidden = null } = "title" in webhook ? webhook : {};
  return {
    webhook: "title" in webhook ? toWebhookFindings(webhook) : webhook,
    state: health.state.words,
    failing: health.failing,
    disabled: disabled_at === null ? null : { at: disabled_at, by: disabled_by },
    since: health.since,
    first_failure: health.first ? toFailure(health.first) : null,
    in_common: health.failurePattern,
    because_of: trace ? findCauses(attempts.slice(attempts.findLastIndex(({ ok }) => ok) + 1), trace) : null,
    last_delivered_at: health.deliveredAt,
    last_error: health.lastFailure,
    last_response: health.responseText,
    why: health.explanation,
    short: health.shortReason,
    skipped: unattemptedDeliveries.length,
    skipped_deliveries: unattemptedDeliveries,
    cut_short_deliveries: skippedDeliveries
      .filter(({ attempts }) => filterScheduled(attempts).length > 0)
      .map(toUnsentDelivery),
    resent_deliveries: skippedDeliveries
      .filter(({ attempts }) => attempts.length > 0 && filterScheduled(attempts).length === 0)
      .map(toUnsentDelivery),
    given_up_deliveries: deliveries.filter(({ outcome }) => outcome === "failed").map(toUnsentDelivery),
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

const toFailure = ({ delivery, attempt }: DeliveryAttempt) => ({
  at: attempt.at,
  delivery: delivery.id,
  activity: delivery.activity,
  composite_id: delivery.composite_id,
  turn: formatAttemptLabel(attempt, delivery),
  error: describeAttemptOutcome(attempt),
});

function toWebhookFindings({ id, title, url, status, workspace_id, workspace, failure_count, ...rest }: Webhook) {
  const { only_for_activities } = rest;
  return { id, title, url, status, workspace_id, workspace, failure_count, only_for_activities };
}

const toUnsentDelivery = ({ id, activity, composite_id, created_at, outcome, attempts: { length } }: Delivery) => {
  return { id, activity, composite_id, created_at, outcome, attempts: length };
};

export const compareWorstFirst = (a: WebhookReading, b: WebhookReading): number =>
  rateSeverity(b) - rateSeverity(a) || countFailures(b) - countFailures(a) || a.webhook.id - b.webhook.id;

function rateSeverity({ webhook, health: { failing, since } }: WebhookReading): number {
  if (webhook.status === "DISABLED_BY_ERROR") return 5;
  if (webhook.status === "DELETED") return 1;
  if (webhook.forbidden !== null) return 4;
  if (webhook.status === "DISABLED_BY_USER") return 3;
  if (since !== null) return 2;
  return failing ? 1 : 0;
}

const countFailures = ({ webhook }: WebhookReading): number =>
  webhook.status === "DELETED" ? 0 : webhook.failure_count;

function listAttempts(deliveries: readonly Delivery[], trace: Trace | undefined) {
  const reasons = new Map(trace?.nodes.map((node) => [node.id, node.because]));
  return deliveries
    .flatMap((delivery) => delivery.attempts.map((attempt): DeliveryAttempt => ({ delivery, attempt })))
    .sort(compareAttemptTimes)
    .map(({ delivery, attempt }) => ({
      at: attempt.at,
      delivery: delivery.id,
      activity: delivery.activity,
      composite_id: delivery.composite_id,
      number: attempt.number,
      turn: formatAttemptLabel(attempt, delivery),
      status: attempt.status,
      error: attempt.error,
      fault: attempt.fault,
      ok: hasSucceeded(attempt),
      because: reasons.get(`attempt:${delivery.id}.${attempt.number}`) ?? null,
    }));
}

function findCauses(failed: readonly Attempt[], { nodes }: Trace) {
  const nodesById = new Map(nodes.map((node) => [node.id, node]));
  const findParent = (id: string) => nodesById.get(nodesById.get(id)?.parent ?? "");
  const events = new Map<string, { readonly id: string; readonly at: string; readonly what: string }>();
  for (const { delivery } of failed) {
    const event = findParent(`delivery:${delivery}`);
    const cause = event && findParent(event.id);
    if (cause) events.set(cause.id, { id: cause.id, at: cause.at, what: cause.what });
  }
  return [...events.values()];
}

/** The conclusion comes last, where users look, after all evidence or as much as fits `maxLines` and `columns`. */
export function formatFindings(
  findings: WebhookFindings,
  { all, maxLines, columns, isBound }: FormatOptions,
): StyledLine[] {
  const conclusion = formatConclusion(findings, all, isBound);
  const heading = formatHeading(findings.webhook);
  if (all) return [heading, ...formatEvidence(findings), ...conclusion];
  const wrap = (line: StyledLine) => wrapLine([{ text: stripStyles(line), paint: (text) => text }], columns);
  const countRows = (lines: readonly StyledLine[]) => lines.flatMap((line) => wrap(line).split("\n")).length;
  const room = maxLines - countRows([heading, ...conclusion]);
  const fittingEvidence = [...formatDigests(findings)].find((lines) => countRows(lines) <= room) ?? [];
  return [heading, ...fittingEvidence, ...conclusion];
}

function formatConclusion(findings: WebhookFindings, showsAll: boolean, isBound?: boolean): StyledLine[] {
  const { since, why: reason, last_response: lastResponse, last_delivered_at: lastDeliveredAt } = findings;
  const [begin, ...rest] = reason;
  const first: StyledLine[] = since === null || begin === undefined ? reason.slice(0, 1) : [[red(begin)]];
  return [
    "",
    ...first,
    ...rest,
    ...(lastResponse === null ? [] : [`Last response: ${lastResponse}`]),
    ...formatCauses(findings.because_of ?? [], showsAll),
    ...(lastDeliveredAt === null ? [] : [`Last delivered ${lastDeliveredAt}`]),
    ...formatNextSteps(findings, isBound),
  ];
}

function formatEvidence(findings: WebhookFindings): StyledLine[] {
  const { attempts } = findings;
  return [
    ...(attempts.length === 0 ? [] : ["", "Attempts:"]),
    ...attempts.map(formatAttempt),
    ...formatUndelivered(findings).flatMap(([heading, list]) => [
      "",
      `${heading}: ${list.length}`,
      ...formatDeliveries(list),
    ]),
  ];
}

/** Yields the newest attempts and the number of undelivered deliveries, from the longest version to the shortest. */
function* formatDigests(findings: WebhookFindings): Generator<StyledLine[]> {
  const { attempts } = findings;
  const counts = formatUndelivered(findings).map(([heading, { length }]) => `${heading}: ${length}`);
  const hint = counts.length === 0 ? [] : [`${counts.join(". ")}. List them with --all`];
  for (let shownCount = Math.min(attempts.length, maxShown); shownCount > 0; shownCount -= 1) {
    const omits = attempts.length > shownCount;
    const heading = omits ? `The last ${shownCount} of ${attempts.length} attempts; see all with --all:` : "Attempts:";
    yield ["", heading, ...attempts.slice(-shownCount).map(formatAttempt), ...hint];
  }
  if (attempts.length > 0) yield ["", "See the attempts with --all", ...hint];
  yield hint.length > 0 ? ["", ...hint] : [];
}

const maxShown = 7;

function formatUndelivered(findings: WebhookFindings) {
  const filterCutShort = (outcome: string) =>
    findings.cut_short_deliveries.filter((delivery) => delivery.outcome === outcome);
  const kinds = [
    ["Skipped without an attempt", findings.skipped_deliveries],
    ["Skipped, then resent without success", findings.resent_deliveries],
    ["Not retried, because the webhook was disabled", filterCutShort("skipped_disabled")],
    ["Not retried, because its address was not allowed", filterCutShort("skipped_not_allowed")],
    ["Not retried, because the webhook was deleted", filterCutShort("skipped_deleted")],
    ["Failed after the last retry", findings.given_up_deliveries],
  ] as const;
  return kinds.filter(([, all]) => all.length > 0);
}

function formatHeading(webhook: WebhookFindings["webhook"]): StyledLine {
  const name = bold(`Webhook ${webhook.id}`);
  if (!("title" in webhook)) return [name, `  workspace ${webhook.workspace_id}  `, styleState(webhook.status)];
  const { title, url, status, workspace_id: id, workspace } = webhook;
  return [name, `  ${title}  ${url}  `, styleState(status), `  workspace ${id} (${workspace})`];
}

function formatNextSteps(findings: WebhookFindings, isBound?: boolean): StyledLine[] {
  const { next_attempt_at: next, failing, given_up_deliveries: givenUpDeliveries, steps } = findings;
  const lines = steps.map(({ words, command }) => (command === null ? words : `${words}: ${command}`));
  if (next !== null) lines.unshift(formatNextAttempt(next, findings, isBound));
  else if (failing && givenUpDeliveries.length > 0) lines.unshift("No retries are left.");
  return lines.length === 0 ? [] : ["", ...lines];
}

function formatCauses(causes: NonNullable<WebhookFindings["because_of"]>, all: boolean): StyledLine[] {
  const shownCauses = all ? causes : causes.slice(0, 1);
  const hiddenCount = causes.length - shownCauses.length;
  return shownCauses.map(
    ({ id, what, at }, i): StyledLine => [
      `Because of ${id}  ${what}`,
      dim(`  ${at}${i === 0 && hiddenCount > 0 ? `, and ${hiddenCount} more` : ""}`),
    ],
  );
}

const formatDeliveries = (all: WebhookFindings["skipped_deliveries"]): StyledLine[] =>
  all
    .toSorted((a, b) => a.id - b.id)
    .map(
      ({ id, activity, composite_id: contract, created_at: at }) =>
        `  ${at}  delivery:${id}  ${activity}${contract === null ? "" : ` ${contract}`}`,
    );

/** Due attempts of a disabled webhook are skipped (DECISIONS.md, C18). */
function formatNextAttempt(
  at: string,
  { webhook: { status }, next_because: reason, next_attempt_is_due: isDue }: WebhookFindings,
  isBound = false,
): string {
  if (isDue)
    return `An attempt has been due since ${at} without a result: it is in progress, or waits for other attempts or the disk`;
  if (status === "DELETED") return `Next attempt ${at}: skipped`;
  if (status !== "ACTIVE") return `Next attempt ${at}: skipped, unless you enable the webhook before then`;
  const advanceHint = isBound ? "" : `. To make it now: svc emulator clock advance --to ${at}`;
  return `Next attempt ${at}${reason === null ? "" : `, ${reason}`}${advanceHint}`;
}

const formatAttempt = ({ at, turn, status, error, activity, composite_id: contract, ok, because }: Attempt) => [
  `  ${at}  `,
  status === null ? red(error?.code ?? "no response") : styleStatus(status),
  `  ${turn}  ${activity}${contract === null ? "" : ` ${contract}`}`,
  dim(`${because === null ? "" : `  ${because}`}${ok ? "  delivered" : ""}`),
];
