import { createCommitOnlyRun, type JobHandler, type JobRun } from "../clock/job-handler.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule, toDueSortKey, toDueSortKeyEnd } from "../clock/schedule.ts";
import type { AppliedFault, FaultInterceptor, Postponement } from "../faults/faults.ts";
import { causes } from "../store/causes.ts";
import type { Transaction, View } from "../store/port.ts";
import { workspaces } from "../world/workspaces.ts";
import { type AttemptContext, type AttemptInput, type AttemptResult, createAttemptSender } from "./attempt.ts";
import {
  type Delivery,
  deliveries,
  type Outcome,
  toAttemptFault,
  traceOfEvent,
  type WebhookEvent,
  webhookEvents,
} from "./deliveries.ts";
import type { DeliveryNotifier } from "./delivery-notifier.ts";
import { purge, putAttempt, recordOutcome } from "./record.ts";

import { getCapacity, getRetentionEnd } from "./retry-rule.ts";
import { subscriptions } from "./subscriptions.ts";

export interface DeliveryContext extends AttemptContext {
  readonly intervene?: FaultInterceptor | undefined;
  readonly news?: DeliveryNotifier | undefined;
}

/**
 * Job handlers for deliveries. The ref of an entry is the id of its delivery. `deliver` makes the next scheduled
 * attempt, `resend` an attempt outside the schedule (DECISIONS.md, C18).
 */
export function createDeliveryJobHandlers(world: DeliveryContext): {
  readonly deliver: JobHandler;
  readonly resend: JobHandler;
} {
  const { clock, settings, outgoing, news } = world;
  const attempt = createAttemptSender(world);
  const heard = new WeakSet<AbortSignal>();

  const createHandler = (resend: boolean): JobHandler => ({
    async prepare(view, entries) {
      const found = await readAttemptInputs(view, entries, resend);
      return found.map((one, i) => runOf(entries[i]!, one, resend));
    },
    readCapacities: readCapacities,
  });

  function runOf(entry: ScheduledEntry, found: AttemptInput | Skip | "gone", resend: boolean): JobRun {
    if (found === "gone") return createCommitOnlyRun((tx) => forget(tx, entry));
    if ("skip" in found) return createCommitOnlyRun((tx) => record(tx, { entry, result: found, resend }));
    const trouble = world.intervene?.(found);
    if (trouble && "putOff" in trouble)
      return createCommitOnlyRun((tx) => putOff(tx, entry, trouble.putOff, trouble, clock.now()));
    return (signal) => {
      abortWith(signal);
      return attempt(found, trouble?.send).then((result) => {
        const ended = { entry, result, resend, interference: trouble };
        return (tx) => record(tx, ended);
      });
    };
  }

  /** Changes since the entry was scheduled count (DECISIONS.md, C18). */
  async function readAttemptInputs(view: View, entries: readonly ScheduledEntry[], resend: boolean) {
    const rows = await view.getAll(deliveries, entries, ({ ref }) => Number(ref));
    const events = await view.getAll(webhookEvents, rows, (row) => row?.event_id);
    const receivers = await view.getAll(subscriptions, rows, (row) => row?.webhook_id);
    const owners = await view.getAll(workspaces, rows, (row) => row?.workspace_id);
    const traces = settings.traceWebhooks ? await readTraces(view, entries, events, resend) : [];
    return entries.map((_, i): AttemptInput | Skip | "gone" => {
      const [delivery, event, subscription, workspace] = [rows[i], events[i], receivers[i], owners[i]];
      if (!delivery) return "gone";
      if (!event || !subscription || !workspace) return { skip: "skipped_deleted" };
      if (!resend && subscription.status !== "ACTIVE") return { skip: "skipped_disabled" };
      // The attempt was never made, so it does not count as a failure (DECISIONS.md, C16).
      if (outgoing.forbidden(subscription.url)) return { skip: "skipped_not_allowed" };
      const number = delivery.attempts + 1;
      const hmacKey = workspace.hmac_key;
      return { delivery, number, resend, event, subscription, hmacKey, trace: traces[i] };
    });
  }

  let purgedAt = Number.NEGATIVE_INFINITY;
  /** Once per virtual time, because nothing expires while the clock stands still. */
  function dropOld(tx: Transaction): Promise<unknown> | undefined {
    const now = clock.now();
    if (now === purgedAt) return undefined;
    purgedAt = now;
    return purge(tx, now);
  }

  /** One listener for all attempts, because the runner gives every entry the same signal. */
  function abortWith(signal: AbortSignal): void {
    if (heard.has(signal)) return;
    heard.add(signal);
    signal.addEventListener("abort", () => outgoing.breakOff());
  }

  /** Records the outcome, in the transaction in which the entry leaves the queue. */
  function record(tx: Transaction, ended: EndedRun): Promise<string> | string {
    const dropped = dropOld(tx);
    return dropped ? dropped.then(() => recordNow(tx, ended)) : recordNow(tx, ended);
  }

  /** Awaits nothing if there was no fault, because every delivery takes this path. */
  function recordNow(tx: Transaction, { entry, result, resend, interference }: EndedRun): Promise<string> | string {
    const delivery = tx.getSync(deliveries, Number(entry.ref));
    if (!delivery) return forget(tx, entry);
    if ("skip" in result) return skip(tx, { entry, delivery, outcome: result.skip, now: clock.now(), resend, news });
    const subscription = tx.getSync(subscriptions, delivery.webhook_id);
    const made = { entry, delivery, subscription, attempted: result, resend, interference, settings, news };
    // The id of the scripted fault is stored with its effect.
    if (interference)
      return tx.withCause(interference.cause, () => putAttempt(tx, made)).then(() => recordOutcome(tx, made));
    putAttempt(tx, made);
    return recordOutcome(tx, made);
  }

  return { deliver: createHandler(false), resend: createHandler(true) };
}

/** A resend belongs to the trace of its cause. */
async function readTraces(
  view: View,
  entries: readonly ScheduledEntry[],
  events: readonly (WebhookEvent | undefined)[],
  resend: boolean,
): Promise<readonly string[]> {
  const told = entries.map((entry, i) => ({ event: events[i], cause: resend ? entry.cause : events[i]?.cause }));
  const reasons = await view.getAll(causes, told, ({ cause }) => cause ?? undefined);
  return told.map(({ event }, i) => traceOfEvent(event, reasons[i]));
}

interface Skip {
  readonly skip: Extract<Outcome, `skipped_${string}`>;
}

/** The delivery or the entry was removed during the attempt. */
function forget(tx: Transaction, entry: ScheduledEntry): string {
  const waiting = tx.getSync(schedule, entry.id);
  if (waiting?.due === entry.due) dequeue(tx, entry);
  return "gone";
}

/** The records to store. */
interface EndedRun {
  readonly entry: ScheduledEntry;
  readonly result: AttemptResult | Skip;
  readonly resend: boolean;
  readonly interference?: AppliedFault | undefined;
}

interface Skipped {
  readonly entry: ScheduledEntry;
  readonly delivery: Delivery;
  readonly outcome: Outcome;
  readonly now: number;
  readonly resend: boolean;
  readonly news: DeliveryNotifier | undefined;
}

function skip(tx: Transaction, { entry, delivery, outcome, now, resend, news }: Skipped): string {
  dequeue(tx, entry);
  // A resend that cannot be sent leaves the delivery unchanged.
  if (resend) return outcome;
  const skipped = { ...delivery, outcome, next_attempt_at: null, keep_until: getRetentionEnd("other", now) };
  tx.put(deliveries, skipped);
  news?.notify({ delivery: skipped, attempt: undefined, disabled: outcome === "skipped_disabled", at: now });
  return outcome;
}

/** A disabled or deleted webhook sends nothing, so there is nothing to limit. */
async function readCapacities(view: View, keys: readonly string[]): Promise<readonly number[]> {
  const found = await view.getAll(subscriptions, keys, parseId);
  return found.map((subscription) =>
    subscription?.status === "ACTIVE" ? getCapacity(subscription.failure_count) : Number.POSITIVE_INFINITY,
  );
}

const parseId = (key: string): number => Number(key.slice(key.indexOf(":") + 1));

/** The delay of an attempt behind one that may overtake it: enough for the other to arrive first in any clock mode. */
const behindMs = 1_000;

/** Postpones an attempt without making it, so nothing is counted. Returns the outcome as one word. */
async function putOff(
  tx: Transaction,
  entry: ScheduledEntry,
  { byMs, isAfterNext }: Postponement,
  by: AppliedFault,
  now: number,
): Promise<string> {
  const waiting = await tx.get(schedule, entry.id);
  const delivery = await tx.get(deliveries, Number(entry.ref));
  if (waiting?.due !== entry.due || !delivery) return "gone";
  const next = isAfterNext ? await nextOfKey(tx, entry, now + byMs) : undefined;
  const due = next ? next.due + behindMs : now + byMs;
  enqueue(tx, { ...entry, due });
  const put_off = toAttemptFault(by);
  await tx.withCause(by.cause, () => tx.put(deliveries, { ...delivery, next_attempt_at: due, put_off }));
  return "put_off";
}

/** The next entry with the same concurrency key, if it is due by `until`. */
async function nextOfKey(tx: Transaction, entry: ScheduledEntry, until: number): Promise<ScheduledEntry | undefined> {
  const slice = { by: "turn", from: toDueSortKey(entry.due, entry.id + 1), to: toDueSortKeyEnd(until) } as const;
  return (await tx.list(schedule, slice)).find((other) => other.concurrency_key === entry.concurrency_key);
}
