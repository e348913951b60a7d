import { createCommitOnlyRun, type JobHandler, type JobRun } from "../clock/job-handler.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule, toDueSortKey, toDueSortKeyEnd } from "../clock/schedule.ts";
import { workspaces } from "../domain/workspaces.ts";
import type { AppliedFault, AttemptPostponement, FaultInterceptor } from "../faults/faults.ts";
import { causes } from "../store/causes.ts";
import type { Transaction, View } from "../store/port.ts";
import { type AttemptContext, type AttemptInput, type AttemptResult, createAttemptSender } from "./attempt.ts";
import {
  type Delivery,
  type DeliveryOutcome,
  deliveries,
  getEventTrace,
  toAttemptFault,
  type WebhookEvent,
  webhookEvents,
} from "./deliveries.ts";
import {
  type DeliveryNotifier,
  getCapacity,
  getRetentionEnd,
  purgeWebhookRecords,
  putAttempt,
  recordOutcome,
} from "./record.ts";

import { webhookRows } from "./webhooks.ts";

export interface DeliveryContext extends AttemptContext {
  readonly intervene?: FaultInterceptor | undefined;
  readonly notifier?: DeliveryNotifier | undefined;
}

/**
 * Creates the handlers of attempts. The ref of an entry is the ID of its delivery. `resend` is outside the schedule
 * (DECISIONS.md, C18).
 */
export function createDeliveryJobHandlers(context: DeliveryContext): {
  readonly deliver: JobHandler;
  readonly resend: JobHandler;
} {
  const { clock, settings, outgoing, notifier } = context;
  const sendAttempt = createAttemptSender(context);
  const watchedSignals = new WeakSet<AbortSignal>();

  const createHandler = (resend: boolean): JobHandler => ({
    async prepare(view, entries) {
      const inputs = await readAttemptInputs(view, entries, resend);
      return inputs.map((item, i) => createRun(entries[i]!, item, resend));
    },
    readCapacities,
  });

  function createRun(entry: ScheduledEntry, input: AttemptInput | SkippedAttempt | "gone", resend: boolean): JobRun {
    if (input === "gone") return createCommitOnlyRun((tx) => removeEntry(tx, entry));
    if ("skip" in input) return createCommitOnlyRun((tx) => record(tx, { entry, result: input, resend }));
    const fault = context.intervene?.(input);
    if (fault && "postponement" in fault)
      return createCommitOnlyRun((tx) => postponeAttempt(tx, entry, fault.postponement, fault, clock.now()));
    return (signal) => {
      abortAttemptsOn(signal);
      return sendAttempt(input, fault?.send).then((result) => {
        const endedRun = { entry, result, resend, fault };
        return (tx) => record(tx, endedRun);
      });
    };
  }

  /** Rows are read before each attempt, because changes since the entry was scheduled apply (DECISIONS.md, C18). */
  async function readAttemptInputs(view: View, entries: readonly ScheduledEntry[], resend: boolean) {
    const rows = await view.getAll(deliveries, entries, ({ ref }) => Number(ref));
    const events = await view.getAll(webhookEvents, rows, (row) => row?.event_id);
    const webhooks = await view.getAll(webhookRows, rows, (row) => row?.webhook_id);
    const ownerWorkspaces = await view.getAll(workspaces, rows, (row) => row?.workspace_id);
    const traces = settings.traceWebhooks ? await readTraces(view, entries, events, resend) : [];
    return entries.map((_, i): AttemptInput | SkippedAttempt | "gone" => {
      const [delivery, event, webhook, workspace] = [rows[i], events[i], webhooks[i], ownerWorkspaces[i]];
      if (!delivery) return "gone";
      if (!event || !webhook || !workspace) return { skip: "skipped_deleted" };
      if (!resend && webhook.status !== "ACTIVE") return { skip: "skipped_disabled" };
      // The attempt was not made, so it is not a failure (DECISIONS.md, C16).
      if (outgoing.findForbiddenReason(webhook.url)) return { skip: "skipped_not_allowed" };
      const number = delivery.attempts + 1;
      const hmacKey = workspace.hmac_key;
      return { delivery, number, resend, event, webhook, hmacKey, trace: traces[i] };
    });
  }

  let purgedAt = Number.NEGATIVE_INFINITY;
  /** Records are purged once per virtual time, because nothing expires while the clock is stopped. */
  function purgeExpired(tx: Transaction): Promise<unknown> | undefined {
    const now = clock.now();
    if (now === purgedAt) return undefined;
    purgedAt = now;
    return purgeWebhookRecords(tx, now);
  }

  /** Aborts all attempts with a single listener, because the runner passes the same signal to every entry. */
  function abortAttemptsOn(signal: AbortSignal): void {
    if (watchedSignals.has(signal)) return;
    watchedSignals.add(signal);
    signal.addEventListener("abort", () => outgoing.abort());
  }

  /** Records the outcome in the transaction that removes the entry from the queue. */
  function record(tx: Transaction, endedRun: EndedRun): Promise<string> | string {
    const purge = purgeExpired(tx);
    return purge ? purge.then(() => recordWithoutPurge(tx, endedRun)) : recordWithoutPurge(tx, endedRun);
  }

  /** Does not await if there was no fault, because this is the common path. */
  function recordWithoutPurge(tx: Transaction, { entry, result, resend, fault }: EndedRun): Promise<string> | string {
    const delivery = tx.getSync(deliveries, Number(entry.ref));
    if (!delivery) return removeEntry(tx, entry);
    if ("skip" in result) {
      dequeue(tx, entry);
      // A resend that cannot be sent does not change the delivery.
      return resend ? result.skip : endSkipped(tx, delivery, result.skip);
    }
    const webhook = tx.getSync(webhookRows, delivery.webhook_id);
    const attemptRecord = { entry, delivery, webhook, result, resend, fault, settings, notifier };
    // The ID of the scripted fault is stored with the effect of the fault.
    if (fault)
      return tx
        .withCause(fault.cause, () => putAttempt(tx, attemptRecord))
        .then(() => recordOutcome(tx, attemptRecord));
    putAttempt(tx, attemptRecord);
    return recordOutcome(tx, attemptRecord);
  }

  function endSkipped(tx: Transaction, delivery: Delivery, outcome: SkippedAttempt["skip"]): string {
    const now = clock.now();
    const skippedDelivery = { ...delivery, outcome, next_attempt_at: null, keep_until: getRetentionEnd("other", now) };
    tx.put(deliveries, skippedDelivery);
    notifier?.emit({
      delivery: skippedDelivery,
      attempt: undefined,
      disabled: outcome === "skipped_disabled",
      at: now,
    });
    return outcome;
  }

  return { deliver: createHandler(false), resend: createHandler(true) };
}

/** A resend belongs to the trace of its own cause. */
async function readTraces(
  view: View,
  entries: readonly ScheduledEntry[],
  events: readonly (WebhookEvent | undefined)[],
  resend: boolean,
): Promise<readonly string[]> {
  const origins = entries.map((entry, i) => ({ event: events[i], cause: resend ? entry.cause : events[i]?.cause }));
  const causeRows = await view.getAll(causes, origins, ({ cause }) => cause ?? undefined);
  return origins.map(({ event }, i) => getEventTrace(event, causeRows[i]));
}

interface SkippedAttempt {
  readonly skip: Extract<DeliveryOutcome, `skipped_${string}`>;
}

/** Removes an entry whose delivery or schedule entry was removed during the attempt. */
function removeEntry(tx: Transaction, entry: ScheduledEntry): string {
  const queuedEntry = tx.getSync(schedule, entry.id);
  if (queuedEntry?.due === entry.due) dequeue(tx, entry);
  return "gone";
}

interface EndedRun {
  readonly entry: ScheduledEntry;
  readonly result: AttemptResult | SkippedAttempt;
  readonly resend: boolean;
  readonly fault?: AppliedFault | undefined;
}

/** A disabled or deleted webhook has no capacity limit, because it sends nothing. */
async function readCapacities(view: View, keys: readonly string[]): Promise<readonly number[]> {
  const webhooks = await view.getAll(webhookRows, keys, parseId);
  return webhooks.map((webhook) =>
    webhook?.status === "ACTIVE" ? getCapacity(webhook.failure_count) : Number.POSITIVE_INFINITY,
  );
}

const parseId = (key: string): number => Number(key.slice(key.indexOf(":") + 1));

/** The overtaking attempt arrives first in every clock mode. */
const reorderDelayMs = 1_000;

/** Postpones an attempt without counting it. Returns the outcome as one word. */
async function postponeAttempt(
  tx: Transaction,
  entry: ScheduledEntry,
  { byMs, isAfterNext }: AttemptPostponement,
  fault: AppliedFault,
  now: number,
): Promise<string> {
  const queuedEntry = await tx.get(schedule, entry.id);
  const delivery = await tx.get(deliveries, Number(entry.ref));
  if (queuedEntry?.due !== entry.due || !delivery) return "gone";
  const nextEntry = isAfterNext ? await findNextOfKey(tx, entry, now + byMs) : undefined;
  const due = nextEntry ? nextEntry.due + reorderDelayMs : now + byMs;
  enqueue(tx, { ...entry, due });
  const put_off = toAttemptFault(fault);
  await tx.withCause(fault.cause, () => tx.put(deliveries, { ...delivery, next_attempt_at: due, put_off }));
  return "put_off";
}

async function findNextOfKey(tx: Transaction, entry: ScheduledEntry, latestDue: number) {
  const slice = { by: "turn", from: toDueSortKey(entry.due, entry.id + 1), to: toDueSortKeyEnd(latestDue) } as const;
  return (await tx.list(schedule, slice)).find((candidate) => candidate.concurrency_key === entry.concurrency_key);
}
