import { counted } from "../../base/counted.ts";
import { hostIn } from "../../base/host-name.ts";
import type { listControlWebhooks } from "../emulator/webhooks.ts";
import type { ResultOf } from "../operation.ts";
import { failuresUntilDisabled } from "../webhook-retries.ts";
import { type Attempt, blamedFault, type Delivery, shortTroubleOf, succeeded, troubleOf } from "./attempts.ts";
import { causeOf, type Step } from "./causes.ts";
import { actingOn, endOfFault, type Fault, faultSentence } from "./faults.ts";
import { type Happened, nothingSent, type Telling } from "./nothing-sent.ts";
import { isUnsent } from "./standing.ts";

export type Webhook = ResultOf<typeof listControlWebhooks>[number];

/** What is known of a webhook. */
export interface Facts extends Telling {
  /** Of this webhook, in any order. */
  readonly deliveries: readonly Delivery[];
  readonly faults: readonly Fault[];
  /** Undefined: not asked for. */
  readonly happened?: Happened | undefined;
}

/** An attempt, and what it was of. */
export interface Made {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

/** What the deliveries of a webhook say of it: the command line and the console tell this, and nothing else. */
export interface Health {
  /** In a word or two. */
  readonly state: { readonly tone: "good" | "warn" | "bad" | "none"; readonly words: string };
  /** Something is wrong: svc webhooks why exits 1. */
  readonly failing: boolean;
  /** Nothing was sent to it, nor passed over. */
  readonly untouched: boolean;
  /** Of the first attempt since the last one that arrived; null: it does not fail. */
  readonly since: string | null;
  /** The last attempt of all, where it failed; undefined: it did not. */
  readonly failed: Made | undefined;
  readonly deliveredAt: string | null;
  /** What the last attempt brought: a sentence. */
  readonly trouble: string | null;
  /** How the receiver's answer begins. */
  readonly answer: string | null;
  /** Sentences that follow the trouble, in order. */
  readonly why: readonly string[];
  /** Why, in a few words. */
  readonly short: string;
  /** What somebody may do, in the order in which to do it. */
  readonly steps: readonly Step[];
  /** What did not arrive and does not come by itself, oldest first. */
  readonly unsent: readonly Delivery[];
}

export function webhookHealth(webhook: Webhook, facts: Facts): Health {
  const { deliveries, at } = facts;
  const { first, last, count, deliveredAt } = failedIn(deliveries);
  const unsent = deliveries.filter((one) => isUnsent({ ...one, webhook_status: webhook.status })).toSorted(oldestFirst);
  const { status, forbidden } = webhook;
  const untouched =
    status === "ACTIVE" && forbidden === null && deliveries.every(({ outcome }) => outcome === "waiting");
  const trouble = last ? troubleOf(last.attempt) : null;
  const acting = actingOn(webhook, facts.faults);
  const cause = last && causeOf(last.attempt);
  const outlook = outlookOf(webhook, { last, count, unsent, at });
  const nothing = untouched && deliveries.length === 0 ? nothingSent(webhook, facts.happened, facts) : undefined;
  return {
    state: stateOf(webhook, last),
    failing: status !== "ACTIVE" || forbidden !== null || last !== undefined || untouched,
    untouched,
    since: first?.attempt.at ?? null,
    failed: last,
    deliveredAt,
    trouble,
    answer: last?.attempt.answer ?? null,
    why: [
      cause?.means,
      ...acting.map(faultSentence),
      outlook,
      nothing,
      status === "DISABLED_BY_USER" ? undefined : lostSentence(unsent),
    ].filter((sentence) => sentence !== undefined),
    short: shortOf(webhook, last, unsent.length, untouched),
    steps: stepsOf(webhook, { last, acting, unsent: unsent.length, causes: cause?.steps ?? [] }),
    unsent,
  };
}

/** Of one that is gone: what its deliveries came to. */
export function deletedHealth(deliveries: readonly Delivery[]): Health {
  const { first, last, deliveredAt } = failedIn(deliveries);
  const unsent = deliveries.filter(isUnsent).toSorted(oldestFirst);
  const arrived = deliveries.filter(({ outcome }) => outcome === "delivered").length;
  return {
    state: { tone: "none", words: "deleted" },
    failing: unsent.length > 0,
    untouched: deliveries.length === 0,
    since: first?.attempt.at ?? null,
    failed: last,
    deliveredAt,
    trouble: last ? troubleOf(last.attempt) : null,
    answer: last?.attempt.answer ?? null,
    why: [
      `It was deleted. Of ${counted(deliveries.length, "delivery that is kept", "deliveries that are kept")} ${arrived} arrived${
        unsent.length === 0 ? "" : `, and ${unsent.length} did not and cannot be sent again`
      }.`,
    ],
    short: unsent.length === 0 ? "deleted" : `deleted; ${unsent.length} did not arrive`,
    steps: [],
    unsent,
  };
}

const oldestFirst = (a: Delivery, b: Delivery): number => byText(a.created_at, b.created_at) || a.id - b.id;

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The first and the last attempt since the last one that arrived, how many there were, and when that was. */
function failedIn(deliveries: readonly Delivery[]) {
  let good: Made | undefined;
  for (const delivery of deliveries)
    for (const attempt of delivery.attempts) {
      const made = { delivery, attempt };
      if (succeeded(attempt) && (!good || inOrder(good, made) < 0)) good = made;
    }
  let first: Made | undefined;
  let last: Made | undefined;
  let count = 0;
  for (const delivery of deliveries)
    for (const attempt of delivery.attempts) {
      const made = { delivery, attempt };
      if (succeeded(attempt) || (good && inOrder(made, good) < 0)) continue;
      count += 1;
      if (!first || inOrder(made, first) < 0) first = made;
      if (!last || inOrder(last, made) < 0) last = made;
    }
  return { first, last, count, deliveredAt: good?.attempt.at ?? null };
}

/** As they were made. */
export const inOrder = (a: Made, b: Made): number =>
  byText(a.attempt.at, b.attempt.at) || a.delivery.id - b.delivery.id || a.attempt.number - b.attempt.number;

function stateOf({ status, forbidden, failure_count: failures }: Webhook, last: Made | undefined): Health["state"] {
  if (status === "DISABLED_BY_USER") return { tone: "warn", words: "disabled by a person" };
  if (status !== "ACTIVE") return { tone: "bad", words: "disabled" };
  if (forbidden !== null) return { tone: "bad", words: "address not allowed" };
  if (failures > 0) return { tone: "warn", words: "failing" };
  return last ? { tone: "warn", words: "enabled again" } : { tone: "good", words: "active" };
}

interface Outlook {
  readonly last: Made | undefined;
  /** How many attempts failed since the last one that arrived. */
  readonly count: number;
  readonly unsent: readonly Delivery[];
  readonly at: Facts["at"];
}

/** What its state means for what is to come. */
function outlookOf(webhook: Webhook, { last, count, unsent, at }: Outlook): string | undefined {
  const { status, failure_count: failures, disabled_at: since, disabled_by: by, forbidden } = webhook;
  const when = since === null ? "" : ` at ${at(since)}${by === null ? "" : `, by ${by}`}`;
  if (status === "DISABLED_BY_USER") return `A person disabled it${when}; what comes due is skipped.`;
  if (status !== "ACTIVE") {
    // The counter goes on from there: by a resend that arrives, to none.
    const row = `${Math.max(failures, failuresUntilDisabled)} attempts in a row failed`;
    return `${row}, so it is disabled and what comes due is skipped${when === "" ? "" : `:${when}`}.`;
  }
  const row = failures === 1 ? "1 attempt failed" : `${failures} attempts in a row failed`;
  if (forbidden !== null) return `Nothing is ever sent to it: ${forbidden}`;
  // Who enables it begins to count anew.
  const anew = count > failures ? " since it was enabled again" : "";
  if (failures > 0) return `${row}${anew}; the ${ordinal} disables it.`;
  if (last) return "It was enabled again, and nothing has arrived since.";
  return unsent.length > 0 ? "It works now." : undefined;
}

const ordinal = ["zeroth", "first", "second", "third", "fourth", "fifth", "sixth"][failuresUntilDisabled];

/** What still waits for an attempt is tried if the webhook is enabled before that; the others are not. */
function lostSentence(unsent: readonly Delivery[]): string | undefined {
  if (unsent.length === 0) return undefined;
  const waiting = unsent.filter(({ next_attempt_at: next }) => next !== null).length;
  const lost = `${counted(unsent.length, "delivery has", "deliveries have")} not arrived`;
  const are = (count: number) => (count === 1 ? "is" : "are");
  if (waiting === 0) return `${lost} and ${are(unsent.length)} not tried again.`;
  if (waiting === unsent.length) return `${lost} and ${are(waiting)} tried again only if it is enabled in time.`;
  return `${lost}: ${waiting} ${are(waiting)} tried again if it is enabled in time, the others are not.`;
}

function shortOf({ status, forbidden }: Webhook, last: Made | undefined, unsent: number, untouched: boolean): string {
  if (status === "ACTIVE" && forbidden !== null) return `${unsent} not sent`;
  const lost = unsent === 0 ? [] : [`${unsent} did not arrive`];
  const why = last ? [shortTroubleOf(last.attempt)] : untouched ? ["nothing was sent yet"] : [];
  return [...why, ...lost].join("; ") || (status === "ACTIVE" ? "the last one arrived" : "nothing is lost");
}

/** Whether the emulator would send there if it were told to. */
const isAllowable = (forbidden: string): boolean => forbidden.includes("--webhook-allow");

interface Doing {
  readonly last: Made | undefined;
  readonly acting: readonly Fault[];
  readonly unsent: number;
  readonly causes: readonly Step[];
}

function stepsOf({ id, status, url, forbidden }: Webhook, { last, acting, unsent, causes }: Doing): Step[] {
  const isScripted = last !== undefined && blamedFault(last.attempt) !== undefined;
  const steps: Step[] = acting.map(endOfFault);
  if (isScripted && acting.length === 0) steps.push({ kind: "fault", words: "The fault that did it acts no more." });
  if (forbidden === null) steps.push(...causes);
  else if (isAllowable(forbidden))
    steps.push({
      kind: "allow",
      words: "Stop the emulator, and start it anew with its host allowed, beside the flags that it had",
      command: `svc emulator start --webhook-allow ${hostIn(url)}`,
    });
  else steps.push({ kind: "allow", words: "Subscribe another address." });
  const once =
    forbidden !== null
      ? "once it is allowed"
      : isScripted
        ? "once no fault acts on it"
        : "once the receiver is repaired";
  if (status !== "ACTIVE") {
    const words = status === "DISABLED_BY_USER" && last === undefined && forbidden === null ? "" : `, ${once}`;
    steps.push({ kind: "enable", words: `To enable it again${words}`, command: `svc emulator webhooks enable ${id}` });
  }
  if (unsent > 0 && forbidden === null) {
    const what = unsent === 1 ? "what did not arrive" : `the ${unsent} that did not arrive, oldest first`;
    steps.push({ kind: "resend", words: `To send ${what}`, command: `svc emulator webhooks resend ${id}` });
  }
  return steps;
}
