import { redactText } from "../../src/api/secrets.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { clockState } from "../clock/virtual-clock.ts";
import { readCompositeId } from "../cluster/contracts/rows.ts";
import { redactTarget } from "../http/request-log/redact.ts";
import type { LoggedRequest } from "../http/request-log/request-log.ts";
import type { EmulatorEvent } from "../published.d.ts";
import type { View } from "../store/port.ts";
import type { DeliveryUpdate } from "../webhooks/record.ts";
import type { LeaderSession } from "./leader-session.ts";
import type { ProcessContext } from "./process-context.ts";

interface PendingUpdate {
  /** A clock advance. Later advances extend it. */
  readonly advance?: { readonly from: number; to: number };
  readonly toEvent: (view: View) => EmulatorEvent;
}

/** The interval between batches. A batch has at most `maxEntries` events. Further events are only counted. */
const batchIntervalMs = 100;
const maxEntries = 250;

/**
 * Publishes events in batches and waits for the listener before the next batch. Code that serves requests only appends
 * to a bounded list; the events are created later. Returns a function that stops it after the last batch.
 */
export function watchActivity(
  { requestLog, deliveries, wall }: ProcessContext,
  { store, clock }: LeaderSession,
  listener: (events: readonly EmulatorEvent[]) => Promise<void> | void,
): () => Promise<void> {
  let pending: PendingUpdate[] = [];
  let droppedCount = 0;
  const stop = new AbortController();
  let wake = () => {};

  const addUpdate = (item: PendingUpdate) => {
    if (pending.length < maxEntries) pending.push(item);
    else droppedCount += 1;
    wake();
  };
  const addAdvance = (from: number, to: number) => {
    const lastAdvance = pending.at(-1)?.advance;
    // Advances with nothing in between are one advance.
    if (lastAdvance?.to === from) lastAdvance.to = to;
    else {
      const advance = { from, to };
      addUpdate({ advance, toEvent: () => ({ event: "clock", from: toIsoMillis(from), to: toIsoMillis(advance.to) }) });
    }
  };
  const addState = () => {
    const at = toIsoMillis(clock.now());
    addUpdate({ toEvent: () => ({ event: "state", at }) });
  };
  const unwatch = [
    requestLog.watch((request) => addUpdate({ toEvent: () => toRequestEvent(request) })),
    deliveries.watch((update) => addUpdate({ toEvent: (view) => toDeliveryEvent(update, view) })),
    clock.watchJumps(addAdvance),
    store.watch([clockState], (changes) => changes === "replaced" && addState()),
  ];

  async function flush(): Promise<void> {
    const batch = pending;
    const count = droppedCount;
    pending = [];
    droppedCount = 0;
    const events = batch.map(({ toEvent }) => toEvent(store));
    if (events.length > 0) await listener(count === 0 ? events : [...events, { event: "dropped", count }]);
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      if (pending.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = () => {};
      }
      await flush();
      await wall.sleep(batchIntervalMs, stop.signal);
    }
    await flush();
  }

  const loop = run();
  return async () => {
    for (const stopWatching of unwatch) stopWatching();
    stop.abort();
    wake();
    await loop;
  };
}

const toRequestEvent = ({ at, findings, durationMs, ...entry }: LoggedRequest): EmulatorEvent => ({
  event: "request",
  at: toIsoMillis(at),
  listener: entry.listener,
  service: entry.service,
  operation: entry.operation ?? null,
  method: entry.method,
  target: redactTarget(entry.target, entry.operation),
  status: entry.status,
  failure: entry.failure ?? null,
  caller: entry.caller ?? null,
  findings: findings.map(({ code }) => code),
  duration_ms: durationMs,
});

const toDeliveryEvent = ({ delivery, attempt, disabled, at }: DeliveryUpdate, view: View): EmulatorEvent => ({
  event: "delivery",
  at: toIsoMillis(at),
  delivery_id: delivery.id,
  webhook_id: delivery.webhook_id,
  activity: delivery.activity,
  contract_id: delivery.contract_id,
  composite_id: readCompositeId(view, delivery.contract_id),
  attempt: attempt?.number ?? null,
  scheduled_number: attempt?.scheduled_number ?? null,
  resend: attempt?.resend ?? false,
  status: attempt?.status ?? null,
  error: attempt?.error ? redactText(attempt.error.code) : null,
  duration_ms: attempt?.duration_ms ?? null,
  outcome: delivery.outcome,
  next_attempt_at: delivery.next_attempt_at === null ? null : toIsoMillis(delivery.next_attempt_at),
  webhook_disabled: disabled,
});
