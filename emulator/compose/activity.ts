import { redactText } from "../../src/api/secrets.ts";
import { toIsoMillis, type WallClock } from "../../src/base/clock.ts";
import { clockState, type VirtualClock } from "../clock/virtual-clock.ts";
import { readCompositeIds } from "../cluster/contracts/rows.ts";
import { redactTarget } from "../http/request-log/redact.ts";
import type { LoggedRequest, RequestLog } from "../http/request-log/request-log.ts";
import type { EmulatorEvent } from "../published.d.ts";
import type { Store } from "../store/port.ts";
import type { Delivery } from "../webhooks/deliveries.ts";
import type { DeliveryNotifier, DeliveryUpdate } from "../webhooks/record.ts";

interface ActivitySources {
  readonly store: Store;
  readonly requestLog: RequestLog;
  readonly deliveries: DeliveryNotifier;
  readonly clock: VirtualClock;
  readonly wall: WallClock;
}

interface PendingUpdate {
  /** A clock advance. Later ones extend it. */
  readonly move?: { readonly from: number; to: number };
  readonly delivery?: Delivery;
  readonly toEvent: (compositeId: string | null) => EmulatorEvent;
}

/** Each listener gets at most this many entries; further ones are only counted. */
const everyMs = 100;
const maxEntries = 250;

/**
 * Publishes events in batches and waits for the listener before the next batch. Code that serves requests only appends
 * to a bounded list; the events are created later. Returns a function that stops it after the last batch.
 */
export function watchActivity(
  { store, requestLog, deliveries, clock, wall }: ActivitySources,
  listener: (events: readonly EmulatorEvent[]) => Promise<void> | void,
): () => Promise<void> {
  let waiting: PendingUpdate[] = [];
  let dropped = 0;
  const ended = new AbortController();
  let wake = () => {};

  const add = (item: PendingUpdate) => {
    if (waiting.length < maxEntries) waiting.push(item);
    else dropped += 1;
    wake();
  };
  const addMove = (from: number, to: number) => {
    const last = waiting.at(-1)?.move;
    // Advances with nothing in between are one move.
    if (last?.to === from) last.to = to;
    else {
      const move = { from, to };
      add({ move, toEvent: () => ({ event: "clock", from: toIsoMillis(from), to: toIsoMillis(move.to) }) });
    }
  };
  const addState = () => {
    const at = toIsoMillis(clock.now());
    add({ toEvent: () => ({ event: "state", at }) });
  };
  const unwatch = [
    requestLog.watch((request) => add({ toEvent: () => toRequestEvent(request) })),
    deliveries.watch((update) => add({ delivery: update.delivery, toEvent: (id) => toDeliveryEvent(update, id) })),
    clock.watchMoves(addMove),
    store.watch([clockState], (changes) => changes === "replaced" && addState()),
  ];

  async function flush(): Promise<void> {
    const batch = waiting;
    const count = dropped;
    waiting = [];
    dropped = 0;
    const updated = batch.flatMap(({ delivery }) => delivery ?? []);
    const found = updated.length === 0 ? [] : await store.read((view) => readCompositeIds(view, updated));
    const composites = new Map(updated.map((delivery, i) => [delivery, found[i]]));
    const events = batch.map(({ delivery, toEvent }) => toEvent((delivery && composites.get(delivery)) ?? null));
    if (events.length > 0) await listener(count === 0 ? events : [...events, { event: "dropped", count }]);
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      if (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = () => {};
      }
      await flush();
      await wall.sleep(everyMs, ended.signal);
    }
    await flush();
  }

  const running = run();
  return async () => {
    for (const end of unwatch) end();
    ended.abort();
    wake();
    await running;
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

const toDeliveryEvent = (
  { delivery, attempt, disabled, at }: DeliveryUpdate,
  composite_id: string | null,
): EmulatorEvent => ({
  event: "delivery",
  at: toIsoMillis(at),
  delivery_id: delivery.id,
  webhook_id: delivery.webhook_id,
  activity: delivery.activity,
  contract_id: delivery.contract_id,
  composite_id,
  attempt: attempt ? delivery.attempts : null,
  status: attempt && "status" in attempt.postResult ? attempt.postResult.status : null,
  error: attempt && "error" in attempt.postResult ? redactText(attempt.postResult.error.code) : null,
  duration_ms: attempt ? attempt.durationMs : null,
  outcome: delivery.outcome,
  next_attempt_at: delivery.next_attempt_at === null ? null : toIsoMillis(delivery.next_attempt_at),
  webhook_disabled: disabled,
});
