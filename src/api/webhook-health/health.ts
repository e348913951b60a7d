import { pluralize } from "../../base/text.ts";
import { extractHost } from "../../base/urls.ts";
import { failuresUntilDisabled, type RetrySchedule } from "../webhook-retries.ts";
import {
  type Delivery,
  describeAttemptOutcome,
  getCausingFault,
  hasSucceeded,
  isUndelivered,
  summarizeAttemptOutcome,
  type Webhook,
} from "./attempts.ts";
import {
  describeFault,
  diagnoseFailedAttempt,
  type Fault,
  findActiveFaults,
  type RemedyStep,
  toFaultRemovalStep,
} from "./causes.ts";
import {
  type ActivityHistory,
  compareStrings,
  type DeliveryAttempt,
  type ExplanationOptions,
  explainNoDeliveries,
  findFailureStreak,
  type StreakOptions,
} from "./streak.ts";

/** Data of a webhook. */
export interface WebhookFacts extends ExplanationOptions {
  /** Deliveries of this webhook, in any order. */
  readonly deliveries: readonly Delivery[];
  /** Whether older deliveries were not read, so that counts are minimums. */
  readonly isPartial?: boolean | undefined;
  readonly faults: readonly Fault[];
  /** Past activities, or undefined if they were not read. */
  readonly pastActivities?: ActivityHistory | undefined;
}

/** Findings about the deliveries of a webhook, for the command line and the console. */
export interface WebhookHealth extends ReturnType<typeof summarizeStreak> {
  /** Status in one or two words. */
  readonly state: { readonly tone: "good" | "warn" | "bad" | "none"; readonly words: string };
  /** Whether the webhook fails. If true, svc webhooks why exits with 1. */
  readonly failing: boolean;
  /** Whether no delivery was sent to the webhook or skipped. */
  readonly isUntouched: boolean;
  /** Sentences about the first failure, the last one, their common cause and the consequences, in this order. */
  readonly explanation: readonly string[];
  /** Short form of the reason. */
  readonly shortReason: string;
  /** Recommended actions, in order. */
  readonly steps: readonly RemedyStep[];
  /** Deliveries that failed and have no further retry, oldest first. */
  readonly unsent: readonly Delivery[];
}

export function assessWebhook(webhook: Webhook, facts: WebhookFacts): WebhookHealth {
  const { deliveries, formatTime } = facts;
  const streak = summarizeStreak(deliveries, { failureCount: webhook.failure_count, now: facts.now });
  const unsent = deliveries
    .filter((delivery) => isUndelivered({ ...delivery, webhook_status: webhook.status }, facts.now))
    .toSorted(compareByAge);
  const { status, forbidden } = webhook;
  const isUntouched =
    status === "ACTIVE" &&
    forbidden === null &&
    deliveries.every(({ outcome }) => outcome === "waiting") &&
    !(facts.isPartial && deliveries.length === 0);
  const acting = findActiveFaults(webhook, facts.faults, deliveries);
  const unsentCount = { count: unsent.length, isPartial: facts.isPartial === true };
  const explanation =
    isUntouched && deliveries.length === 0 ? explainNoDeliveries(webhook, facts.pastActivities, facts) : undefined;
  const hasOnlyLost = unsent.length > 0 && streak.deliveredAt === null;
  return {
    ...streak,
    state: describeState(webhook, streak),
    failing: status !== "ACTIVE" || forbidden !== null || streak.failed !== undefined || isUntouched || hasOnlyLost,
    isUntouched,
    explanation: [
      ...describeFailures(streak, formatTime, webhook.retry_schedule, facts.isPartial),
      ...acting.map(describeFault),
      describeOutlook(webhook, streak, unsent.length, formatTime),
      explanation,
      status === "DISABLED_BY_USER" ? undefined : describeUndelivered(unsent, facts.isPartial),
    ].filter((sentence) => sentence !== undefined),
    shortReason: formatShortState(webhook, streak.failed, unsentCount, isUntouched),
    steps: suggestSteps(webhook, streak.failed, acting, unsentCount),
    unsent,
  };
}

/** Assesses a deleted webhook by the outcomes of its deliveries. */
export function assessDeletedWebhook(
  deliveries: readonly Delivery[],
  at: WebhookFacts["formatTime"],
  now?: number,
): WebhookHealth {
  const streak = summarizeStreak(deliveries);
  const unsent = deliveries.filter((delivery) => isUndelivered(delivery, now)).toSorted(compareByAge);
  const arrived = deliveries.filter(({ outcome }) => outcome === "delivered").length;
  const all = pluralize(deliveries.length, "retained delivery", "retained deliveries");
  const others = unsent.length === 0 ? "." : `; ${unsent.length} did not, and cannot be sent again.`;
  return {
    ...streak,
    state: { tone: "none", words: "deleted" },
    failing: unsent.length > 0,
    isUntouched: deliveries.length === 0,
    explanation: [...describeFailures(streak, at), `The webhook was deleted. Of ${all}, ${arrived} arrived${others}`],
    shortReason: unsent.length === 0 ? "deleted" : `deleted; ${unsent.length} did not arrive`,
    steps: [],
    unsent,
  };
}

const compareByAge = (a: Delivery, b: Delivery): number => compareStrings(a.created_at, b.created_at) || a.id - b.id;

type StreakFacts = ReturnType<typeof summarizeStreak>;

/** Summarizes the failures since the last success, independently of the status of the webhook. */
function summarizeStreak(deliveries: readonly Delivery[], options?: StreakOptions) {
  const { failed, failurePattern } = findFailureStreak(deliveries, options);
  const [first, last] = [failed[0], failed.at(-1)];
  const delivered = deliveries.flatMap(({ attempts }) => attempts.filter(hasSucceeded).map(({ at }) => at));
  return {
    /** Time of the first failed attempt. Null if no attempt failed. */
    since: first?.attempt.at ?? null,
    /** The attempt with which the failures began. */
    first,
    /** The last failed attempt. */
    failed: last,
    /** Number of failed attempts. */
    failures: failed.length,
    /** Sentence about the deliveries that fail while others succeed. Null if all deliveries fail or none. */
    failurePattern,
    deliveredAt: delivered.sort(compareStrings).at(-1) ?? null,
    /** Sentence about the result of the last attempt. */
    lastFailure: last ? describeAttemptOutcome(last.attempt) : null,
    /** Start of the receiver's response. */
    responseText: last?.attempt.response ?? null,
  };
}

/** Describes how the failures began, how the last attempt failed, and the common properties of the failures. */
function describeFailures(
  { first, failed, failurePattern, deliveredAt }: StreakFacts,
  at: WebhookFacts["formatTime"],
  schedule?: RetrySchedule,
  isPartial?: boolean,
): string[] {
  if (!first || !failed) return [];
  const { activity, composite_id: contract } = first.delivery;
  const what = `${activity}${contract === null ? "" : ` ${contract}`}`;
  const beginning = isPartial && deliveredAt === null ? " or earlier" : `, first with ${what}`;
  return [
    `Failing since ${at(first.attempt.at)}${beginning}: ${summarizeAttemptOutcome(first.attempt)}.`,
    diagnoseFailedAttempt(failed.attempt, schedule).meaning,
    ...(failurePattern === null ? [] : [failurePattern]),
  ];
}

function describeState(
  { status, forbidden, failure_count: failures }: Webhook,
  { failed, failurePattern }: StreakFacts,
): WebhookHealth["state"] {
  if (status === "DISABLED_BY_USER") return { tone: "warn", words: "disabled by a user" };
  if (status !== "ACTIVE") return { tone: "bad", words: "disabled" };
  if (forbidden !== null) return { tone: "bad", words: "address not allowed" };
  if (failures > 0 || failurePattern !== null) return { tone: "warn", words: "failing" };
  return failed ? { tone: "warn", words: "enabled again" } : { tone: "good", words: "active" };
}

/** Describes the consequences of the webhook's status for the next deliveries. */
function describeOutlook(
  webhook: Webhook,
  streak: StreakFacts,
  unsent: number,
  at: WebhookFacts["formatTime"],
): string | undefined {
  const { status, failure_count: failures, disabled_at: disabledAt, disabled_by: by, forbidden } = webhook;
  const when = disabledAt === null ? "" : ` at ${at(disabledAt)}${by === null ? "" : ` (${by})`}`;
  if (status === "DISABLED_BY_USER") return `Disabled by a user${when}. Scheduled attempts are skipped.`;
  if (status !== "ACTIVE") {
    // Resends change the counter of a disabled webhook, so it does not show how many failures disabled it.
    const row = `${failuresUntilDisabled} consecutive failures`;
    return `Disabled after ${row}${when === "" ? "" : `,${when}`}. Scheduled attempts are skipped.`;
  }
  if (forbidden !== null) return `Deliveries are blocked: ${forbidden}`;
  // Enabling a webhook resets the counter.
  const again = streak.failures > failures ? " since it was enabled again" : "";
  const row = failures === 1 ? "1 attempt failed" : `${failures} attempts failed in a row`;
  if (failures > 0 && streak.failurePattern === null)
    return `${row}${again}. The ${ordinal} consecutive failure disables the webhook.`;
  if (streak.failed)
    return streak.failurePattern === null ? "Enabled again; no delivery has arrived since." : undefined;
  if (unsent === 0) return undefined;
  return streak.deliveredAt === null ? "No retained delivery has arrived." : "The last delivery arrived.";
}

const ordinal = ["zeroth", "first", "second", "third", "fourth", "fifth", "sixth"][failuresUntilDisabled];

/** Describes the undelivered deliveries. Pending ones are sent if the webhook is enabled in time. */
function describeUndelivered(unsent: readonly Delivery[], isPartial?: boolean): string | undefined {
  if (unsent.length === 0) return undefined;
  const waiting = unsent.filter(({ next_attempt_at: next }) => next !== null).length;
  const all = `${isPartial ? "At least " : ""}${pluralize(unsent.length, "delivery is", "deliveries are")} undelivered`;
  if (waiting === 0) return `${all} and will not be retried.`;
  if (waiting === unsent.length)
    return `${all}. Enable the webhook before the next attempt to retry ${waiting === 1 ? "it" : "them"}.`;
  return `${all}. Enable the webhook before the next attempt to retry ${waiting} of them.`;
}

function formatShortState(
  { status, forbidden }: Webhook,
  last: DeliveryAttempt | undefined,
  { count, isPartial }: UnsentCount,
  isUntouched: boolean,
): string {
  const total = isPartial && count > 0 ? `at least ${count}` : String(count);
  if (status === "ACTIVE" && forbidden !== null) return `${total} not sent`;
  const lost = count === 0 ? [] : [`${total} did not arrive`];
  const reasons = last ? [summarizeAttemptOutcome(last.attempt)] : isUntouched ? ["no deliveries yet"] : [];
  return [...reasons, ...lost].join("; ") || (status === "ACTIVE" ? "the last one arrived" : "no delivery is lost");
}

/** Number of undelivered deliveries. It is a minimum if older deliveries were not read. */
interface UnsentCount {
  readonly count: number;
  readonly isPartial: boolean;
}

function suggestSteps(
  { id, status, url, forbidden }: Webhook,
  last: DeliveryAttempt | undefined,
  acting: readonly Fault[],
  unsent: UnsentCount,
): RemedyStep[] {
  const causingEffect = last && getCausingFault(last.attempt);
  const steps: RemedyStep[] = acting.filter(({ hit }) => hit > 0).map(toFaultRemovalStep);
  if (causingEffect !== undefined && !acting.some(({ effect }) => effect === causingEffect))
    steps.push({ kind: "fault", words: "The scripted fault that caused this is no longer active." });
  if (forbidden === null) steps.push(...(last ? diagnoseFailedAttempt(last.attempt).steps : []));
  else if (forbidden.includes("--webhook-allow"))
    steps.push(
      { kind: "allow", words: "Stop the emulator", command: "svc emulator stop" },
      {
        kind: "allow",
        // A start remembers no flags, so those of the running emulator would be lost.
        words: "Start it again with its other flags and this host",
        command: `svc emulator start --detach --webhook-allow ${extractHost(url)}`,
      },
    );
  else steps.push({ kind: "allow", words: "Create a webhook for another address." });
  steps.push(...acting.filter(({ hit }) => hit === 0).map(toFaultRemovalStep));
  if (status !== "ACTIVE") {
    steps.push({ kind: "enable", words: "Enable the webhook", command: `svc emulator webhooks enable ${id}` });
  }
  if (unsent.count > 0 && forbidden === null) {
    const many = `${unsent.isPartial ? "the" : unsent.count} undelivered deliveries, oldest first`;
    const what = unsent.count === 1 && !unsent.isPartial ? "the undelivered delivery" : many;
    steps.push({ kind: "resend", words: `Resend ${what}`, command: `svc emulator webhooks resend ${id}` });
  }
  return steps;
}
