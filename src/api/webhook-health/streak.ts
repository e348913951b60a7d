import { type Attempt, type Delivery, hasSucceeded } from "./attempts.ts";

/** An attempt, and the delivery that it belongs to. */
export interface DeliveryAttempt {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

/** The attempts that failed since the last success, in order. */
export interface FailureStreak {
  readonly failed: readonly DeliveryAttempt[];
  /** Which deliveries fail while others arrive: a sentence. Undefined: all fail, or none. */
  readonly only: string | undefined;
}

/** In the order in which they were made. */
export const compareAttemptTimes = (a: DeliveryAttempt, b: DeliveryAttempt): number =>
  compareStrings(a.attempt.at, b.attempt.at) || a.delivery.id - b.delivery.id || a.attempt.number - b.attempt.number;

export const compareStrings = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The failures that matter now: those since the last success; or, where some deliveries keep failing while others arrive,
 * the failures of those alone.
 */
export function findFailureStreak(deliveries: readonly Delivery[]): FailureStreak {
  const made = deliveries.flatMap((delivery) =>
    delivery.attempts.map((attempt): DeliveryAttempt => ({ delivery, attempt })),
  );
  made.sort(compareAttemptTimes);
  const since = made.slice(made.findLastIndex(({ attempt }) => hasSucceeded(attempt)) + 1);
  for (const { of, words } of features) {
    const failing = [...groupsOf(made, of)].filter(([, own]) => keepsFailing(own, made, 2));
    const failed = failing.flatMap(([, own]) => sinceSuccess(own)).sort(compareAttemptTimes);
    // Where the last failures are of others, too, this is not what they have in common.
    if (failing.length === 0 || failing.length > mostNamed || since.some((one) => !failed.includes(one))) continue;
    return { failed, only: `${words(failing.map(([value]) => value))} Other deliveries arrive.` };
  }
  const retried = [...groupsOf(made, ({ id, outcome }) => (outcome === "retrying" ? String(id) : undefined))];
  const failing = retried.filter(([, own]) => keepsFailing(own, made, 1));
  const failed = failing.flatMap(([, own]) => own).sort(compareAttemptTimes);
  if (failing.length === 0 || failing.length > mostNamed || since.some((one) => !failed.includes(one)))
    return { failed: since, only: undefined };
  const names = failing.map(([, own]) => nameOf(own[0]!.delivery));
  return { failed, only: `Only ${listed(names)} ${names.length === 1 ? "fails" : "fail"}. Other deliveries arrive.` };
}

/** So many are named. */
const mostNamed = 3;

interface Feature {
  /** What deliveries may have in common; undefined: this one has nothing of the kind. */
  readonly of: (delivery: Delivery) => string | undefined;
  readonly words: (values: readonly string[]) => string;
}

const features: readonly Feature[] = [
  {
    of: ({ activity }) => activity,
    words: (names) => `Only ${listed(names)} ${names.length === 1 ? "fails" : "fail"}.`,
  },
  {
    of: ({ composite_id: id }) => id ?? undefined,
    words: (ids) => `Only deliveries for ${listed(ids)} fail.`,
  },
  {
    // H-… (DECISIONS.md, F1).
    of: ({ composite_id: id }) => (id?.startsWith("H-") ? "H" : undefined),
    words: () => "Only deliveries for imported contracts (H-…) fail.",
  },
];

function groupsOf(made: readonly DeliveryAttempt[], of: Feature["of"]): ReadonlyMap<string, DeliveryAttempt[]> {
  const groups = new Map<string, DeliveryAttempt[]>();
  for (const one of made) {
    const value = of(one.delivery);
    if (value === undefined) continue;
    const group = groups.get(value);
    if (group) group.push(one);
    else groups.set(value, [one]);
  }
  return groups;
}

const sinceSuccess = (own: readonly DeliveryAttempt[]): readonly DeliveryAttempt[] =>
  own.slice(own.findLastIndex(({ attempt }) => hasSucceeded(attempt)) + 1);

/** Whether so many deliveries of a group failed since its last success, while one of another group arrived in between. */
function keepsFailing(own: readonly DeliveryAttempt[], all: readonly DeliveryAttempt[], deliveries: number): boolean {
  const failed = sinceSuccess(own);
  const [first, last] = [failed[0], failed.at(-1)];
  if (!first || !last || new Set(failed.map(({ delivery }) => delivery.id)).size < deliveries) return false;
  return all.some(
    (one) => hasSucceeded(one.attempt) && compareAttemptTimes(first, one) < 0 && compareAttemptTimes(one, last) < 0,
  );
}

const nameOf = ({ id, activity, composite_id: contract }: Delivery): string =>
  `delivery:${id} (${activity}${contract === null ? "" : ` ${contract}`})`;

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
