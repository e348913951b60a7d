import { groupBy } from "../../base/object.ts";
import { describeDuration } from "../../base/quantities.ts";
import { joinWords } from "../../base/text.ts";
import type { listActivities } from "../emulator/activities.ts";
import type { ResultOf } from "../operation.ts";
import { deliveredRetentionMs } from "../webhook-retries.ts";
import { type Attempt, type Delivery, hasSucceeded, type Webhook } from "./attempts.ts";

/** An attempt and its delivery. */
export interface DeliveryAttempt {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

/** Compares attempts by time, oldest first. */
export const compareAttemptTimes = (a: DeliveryAttempt, b: DeliveryAttempt): number =>
  compareStrings(a.attempt.at, b.attempt.at) || a.delivery.id - b.delivery.id || a.attempt.number - b.attempt.number;

export const compareStrings = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export interface StreakOptions {
  /** Consecutive failures of the webhook until now. */
  readonly failureCount?: number | undefined;
  /** Current virtual time in milliseconds, or undefined if unknown. */
  readonly now?: number | undefined;
}

/**
 * Returns the relevant failures in order, which are those since the last success. If some deliveries always fail while
 * others succeed, only their failures are returned, with a sentence about these deliveries.
 */
export function findFailureStreak(deliveries: readonly Delivery[], { failureCount = 0, now }: StreakOptions = {}) {
  const allAttempts = deliveries.flatMap((delivery) =>
    delivery.attempts.map((attempt): DeliveryAttempt => ({ delivery, attempt })),
  );
  allAttempts.sort(compareAttemptTimes);
  // Failed deliveries are retained for longer, so a success after an older failure may be dropped.
  const oldest = now === undefined ? 0 : now - deliveredRetentionMs;
  const attempts = allAttempts.filter(
    ({ attempt }, i) => Date.parse(attempt.at) >= oldest || i >= allAttempts.length - failureCount,
  );
  const sinceSuccess = listAttemptsSinceSuccess(attempts);
  for (const { getValue, describe, minDeliveries = 2 } of features) {
    const failing = [...groupBy(attempts, ({ delivery }) => getValue(delivery))].flatMap(([value, group]) =>
      value !== undefined && isFailingConsistently(group, attempts, minDeliveries) ? [{ value, group }] : [],
    );
    const failed = failing.flatMap(({ group }) => listAttemptsSinceSuccess(group)).sort(compareAttemptTimes);
    // If other deliveries are among the last failures, this property is not the common cause.
    if (failing.length === 0 || failing.length > maxNamed || sinceSuccess.some((one) => !failed.includes(one)))
      continue;
    return { failed, failurePattern: `${describe(failing.map(({ value }) => value))} Other deliveries arrive.` };
  }
  return { failed: sinceSuccess, failurePattern: null };
}

/** Maximum number of names in a sentence. */
const maxNamed = 3;

interface SharedFeature {
  /** Returns a property that deliveries can share, or undefined if the delivery does not have it. */
  readonly getValue: (delivery: Delivery) => string | undefined;
  readonly describe: (values: readonly string[]) => string;
  readonly minDeliveries?: number;
}

const describeNames = (names: readonly string[]): string =>
  `Only ${joinWords(names)} ${names.length === 1 ? "fails" : "fail"}.`;

const features: readonly SharedFeature[] = [
  { getValue: ({ activity }) => activity, describe: describeNames },
  {
    getValue: ({ composite_id: id }) => id ?? undefined,
    describe: (ids) => `Only deliveries for ${joinWords(ids)} fail.`,
  },
  {
    // `H-…` is a contract executed outside the platform (DECISIONS.md, F1).
    getValue: ({ composite_id: id }) => (id?.startsWith("H-") ? "H" : undefined),
    describe: () => "Only deliveries for imported contracts (H-…) fail.",
  },
  {
    getValue: (delivery) => (delivery.outcome === "retrying" ? formatName(delivery) : undefined),
    describe: describeNames,
    minDeliveries: 1,
  },
];

const listAttemptsSinceSuccess = (group: readonly DeliveryAttempt[]): readonly DeliveryAttempt[] =>
  group.slice(group.findLastIndex(({ attempt }) => hasSucceeded(attempt)) + 1);

/**
 * Reports whether this many deliveries of a group failed since its last success, while another group had a success in
 * between.
 */
function isFailingConsistently(
  group: readonly DeliveryAttempt[],
  all: readonly DeliveryAttempt[],
  deliveries: number,
): boolean {
  const failed = listAttemptsSinceSuccess(group);
  const [first, last] = [failed[0], failed.at(-1)];
  if (!first || !last || new Set(failed.map(({ delivery }) => delivery.id)).size < deliveries) return false;
  return all.some(
    (one) => hasSucceeded(one.attempt) && compareAttemptTimes(first, one) < 0 && compareAttemptTimes(one, last) < 0,
  );
}

const formatName = ({ id, activity, composite_id: contract }: Delivery): string =>
  `delivery:${id} (${activity}${contract === null ? "" : ` ${contract}`})`;

/** Past activities, by workspace and type. */
export type ActivityHistory = ResultOf<typeof listActivities>;

/** Maximum number of activities in a sentence. */
const maxShown = 5;

export interface ExplanationOptions {
  /** Formats a time. */
  readonly formatTime: (iso: string) => string;
  /** Current virtual time in milliseconds, or undefined if unknown. */
  readonly now?: number | undefined;
}

/**
 * Explains in a sentence why no delivery of a webhook is retained. `happened` is undefined if past activities were not
 * read.
 */
export function explainNoDeliveries(
  webhook: Webhook,
  pastActivities: ActivityHistory | undefined,
  { formatTime, now }: ExplanationOptions,
): string {
  const { workspace_id: ownId, workspace, only_for_activities: subscribed, created_at: created } = webhook;
  const mayBeDropped = now !== undefined && now - Date.parse(created) > deliveredRetentionMs;
  const absence = mayBeDropped
    ? `No deliveries in the last ${describeDuration(deliveredRetentionMs)} (the retention period)`
    : "No deliveries yet";
  const begin = `${absence}. Subscribed to ${formatActivities(subscribed)}`;
  if (pastActivities === undefined) return `${begin}.`;
  const isSubscribed = ({ activity }: ActivityHistory[number]) => subscribed.includes(activity);
  const ownActivities = pastActivities.filter(({ workspace_id }) => workspace_id === ownId);
  const before = ownActivities.filter(isSubscribed);
  const other = ownActivities.filter((activity) => !isSubscribed(activity));
  const otherActivities = pastActivities.filter((one) => one.workspace_id !== ownId && isSubscribed(one));
  const reasons: string[] = [];
  if (before.length > 0) {
    const last = before
      .map(({ last_at }) => last_at)
      .sort()
      .at(-1)!;
    // Deliveries are retained this long, so later activities would have one.
    reasons.push(
      last <= created
        ? `${formatActivityCounts(before)} happened before it was created, the last at ${formatTime(last)}`
        : `the deliveries of ${formatActivityCounts(before)} are no longer retained`,
    );
  }
  for (const [id, all] of groupBy(otherActivities, ({ workspace_id }) => workspace_id)) {
    reasons.push(`${formatActivityCounts(all)} happened in workspace ${id} (${all[0]!.workspace})`);
  }
  if (otherActivities.length > 0) reasons.push(`this webhook belongs to workspace ${ownId} (${workspace})`);
  if (before.length === 0 && other.length > 0 && !mayBeDropped) {
    reasons.push(`in its workspace ${ownId} (${workspace}), only ${formatActivityCounts(other)} happened`);
  }
  if (reasons.length === 0 && mayBeDropped) return `${begin}, and none happened in that time.`;
  return reasons.length === 0 ? `${begin}, and none has happened.` : `${begin}, but ${reasons.join("; ")}.`;
}

const formatActivities = (names: readonly string[]): string =>
  names.length === 0
    ? "no activity"
    : `${names.slice(0, maxShown).join(", ")}${names.length > maxShown ? ` and ${names.length - maxShown} more` : ""}`;

const formatActivityCounts = (all: readonly ActivityHistory[number][]): string =>
  formatActivities(all.map(({ count, activity }) => `${count} ${activity}`));
