import type { LoggedRequest, RequestLog } from "../../http/request-log/request-log.ts";
import type { DeliveryNotifier, DeliveryUpdate } from "../../webhooks/delivery-notifier.ts";

/** Upper bounds of what is told apart, in milliseconds. */
export const durationBounds = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000] as const;

/** How answers are told apart; `none`: the connection ended without one. */
export const statusClasses = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** How long requests of a service took. */
export interface Durations {
  /** How many took no longer than each bound, and longer than the one before; at the end those beyond all. */
  readonly counts: number[];
  sumMs: number;
}

/** What is counted of a process from its start on. For each request and attempt some additions, however much there is. */
export class Counters {
  /** By service, then by operation (the empty name: nothing is declared there), a number for each class of status. */
  readonly requests = new Map<string, Map<string, number[]>>();
  readonly durations = new Map<string, Durations>();
  /** By class of the receiver's answer, or `error`. */
  readonly attempts = new Map<string, number>();
  /** By what became of them; retries to come are `retrying` each time. */
  readonly outcomes = new Map<string, number>();

  constructor(requestLog: RequestLog, deliveries: DeliveryNotifier) {
    requestLog.watch((entry) => this.#count(entry));
    deliveries.watch((told) => this.#countAttempt(told));
  }

  #count({ service, operation = "", status, durationMs }: LoggedRequest): void {
    const operations = found(this.requests, service, () => new Map<string, number[]>());
    found(operations, operation, () => statusClasses.map(() => 0))[classOf(status)]! += 1;
    const durations = found(this.durations, service, () => ({ counts: [...durationBounds.map(() => 0), 0], sumMs: 0 }));
    let i = 0;
    while (i < durationBounds.length && durationMs > durationBounds[i]!) i += 1;
    durations.counts[i]! += 1;
    durations.sumMs += durationMs;
  }

  #countAttempt({ delivery, attempt }: DeliveryUpdate): void {
    if (attempt) {
      const { posted } = attempt;
      const result = "status" in posted ? statusClasses[classOf(posted.status)]! : "error";
      this.attempts.set(result, (this.attempts.get(result) ?? 0) + 1);
    }
    this.outcomes.set(delivery.outcome, (this.outcomes.get(delivery.outcome) ?? 0) + 1);
  }
}

/** Servers of others answer with any three digits. */
const classOf = (status: number): number => Math.min(statusClasses.length - 1, Math.floor(status / 100));

function found<Key, Value>(all: Map<Key, Value>, key: Key, begin: () => Value): Value {
  const known = all.get(key);
  if (known !== undefined) return known;
  const begun = begin();
  all.set(key, begun);
  return begun;
}
