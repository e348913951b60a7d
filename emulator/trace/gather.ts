import { describeDuration } from "../../src/base/quantities.ts";
import { extractHost } from "../../src/base/urls.ts";
import { type ScheduledEntry, schedule, toContractKey } from "../clock/schedule.ts";
import { contracts, formatCompositeId, readCompositeId } from "../cluster/contracts/rows.ts";
import { causes } from "../store/causes.ts";
import { type CauseRow, type IndexQuery, parseRowNumber, type Rows, type View } from "../store/port.ts";
import {
  type AttemptFault,
  attempts,
  type Delivery,
  type DeliveryAttempt,
  deliveries,
  listAttempts,
  type WebhookEvent,
  webhookEvents,
} from "../webhooks/deliveries.ts";
import { type Webhook, webhookRows } from "../webhooks/webhooks.ts";

/** Rows of a trace, including their causes if these are stored. */
export interface TraceRows {
  readonly causes: ReadonlyMap<string, CauseRow>;
  readonly events: ReadonlyMap<number, WebhookEvent>;
  readonly deliveries: ReadonlyMap<number, Delivery>;
  readonly attempts: readonly DeliveryAttempt[];
  /** All attempts of each delivery in order, including attempts of other traces. */
  readonly attemptsByDelivery: ReadonlyMap<number, readonly DeliveryAttempt[]>;
  /** Scheduled entries, except deliveries, which have their own times. */
  readonly scheduledEntries: readonly ScheduledEntry[];
  readonly webhooks: ReadonlyMap<number, Webhook | undefined>;
  readonly contracts: ReadonlyMap<number, string | null>;
  readonly isTruncated: boolean;
}

/** Maximum number of rows that a request reads into memory. */
const maxTraceRows = 10_000;
const maxDeliveriesPerWebhook = 100;

/** Reads the requested row, its causes and its effects. Returns undefined if nothing is stored. */
export function gatherTrace(view: View, ref: TraceRef): TraceRows | undefined {
  const gatherer = new TraceGatherer(view);
  gatherer.begin(ref);
  return gatherer.findRows();
}

/** Reads the named nodes and their causes. Returns undefined if none of them is stored. */
export function gatherTraceNodes(view: View, names: Iterable<string>): TraceRows | undefined {
  const gatherer = new TraceGatherer(view);
  for (const name of names) gatherer.addNamed(name);
  return gatherer.findRows();
}

/** Matches the number of the contract in a request's path, by either ID (DECISIONS.md, C12). */
const contractPathPattern = /\/contracts\/(?:[TH]-)?(\d{1,15})(?:[/? ]|$)/;

/** Returns the only contract that is named by these causes or that their events concern. Null if there is none. */
export function findContractOfCauses(view: View, rows: readonly CauseRow[]): string | null {
  const found = new Set<number>();
  for (const { id, what } of rows) {
    const [, named] = contractPathPattern.exec(what) ?? [];
    if (named !== undefined) found.add(Number(named));
    const events = view.list(webhookEvents, { by: "cause", equals: id, limit: maxDeliveriesPerWebhook });
    for (const { contract_id } of events) if (contract_id !== null) found.add(contract_id);
  }
  const [contract_id] = found;
  return contract_id === undefined || found.size > 1 ? null : readCompositeId(view, contract_id);
}

export type TraceRef =
  | { readonly by: "cause"; readonly id: string }
  | { readonly by: "trace"; readonly id: string }
  | { readonly by: "event" | "delivery" | "webhook"; readonly id: number }
  | { readonly by: "contract"; readonly id: number; readonly composite: string };

const causePattern = /^(?:request|advance|timer):[1-9]\d{0,14}$/;
const rowPattern = /^(event|delivery|webhook):([1-9]\d{0,14})$/;
const attemptPattern = /^attempt:([1-9]\d{0,14})\.[1-9]\d{0,14}$/;
const contractPattern = /^[TH]-([1-9]\d{0,14})$/;
const tracePattern = /^(?!0{32})[0-9a-f]{32}$/;

/** Parses `request:12`, `T-1`, `delivery:3` and other names, or a W3C trace ID, in either case. */
export function parseTraceRef(input: string): TraceRef | undefined {
  const lower = input.toLowerCase();
  const text = /^[th]-/.test(lower) ? lower.toUpperCase() : lower;
  if (causePattern.test(text)) return { by: "cause", id: text };
  if (tracePattern.test(text)) return { by: "trace", id: text };
  const [, by, id] = rowPattern.exec(text) ?? [];
  if (by) return { by: by as "event" | "delivery" | "webhook", id: Number(id) };
  // An attempt is read with all other attempts of its delivery, because each attempt follows from the previous attempt.
  const [, attemptDelivery] = attemptPattern.exec(text) ?? [];
  if (attemptDelivery) return { by: "delivery", id: Number(attemptDelivery) };
  const [composite, number] = contractPattern.exec(text) ?? [];
  return composite ? { by: "contract", id: Number(number), composite } : undefined;
}

class TraceGatherer {
  readonly #view: View;
  readonly #causes = new Map<string, CauseRow>();
  readonly #events = new Map<number, WebhookEvent>();
  readonly #deliveries = new Map<number, Delivery>();
  readonly #attempts = new Map<string, DeliveryAttempt>();
  readonly #scheduledEntries = new Map<number, ScheduledEntry>();
  #isTruncated = false;

  constructor(view: View) {
    this.#view = view;
  }

  begin(ref: TraceRef): void {
    const view = this.#view;
    if (ref.by === "cause") this.#addCausesWithEffects([view.get(causes, ref.id) ?? []].flat());
    else if (ref.by === "trace") this.#addTrace(ref.id);
    else if (ref.by === "event") this.#addEventWithDeliveries(view.get(webhookEvents, ref.id));
    else if (ref.by === "delivery") this.#addDeliveryWithAttempts(view.get(deliveries, ref.id));
    else if (ref.by === "contract") this.#addContract(ref.id, ref.composite);
    else {
      const newest = { by: "webhook", equals: ref.id, reverse: true, limit: maxDeliveriesPerWebhook } as const;
      for (const row of view.list(deliveries, newest)) this.#addDeliveryWithAttempts(row);
    }
  }

  addNamed(name: string): void {
    const view = this.#view;
    const kind = name.slice(0, name.indexOf(":"));
    const key = name.slice(name.indexOf(":") + 1);
    if (kind === "event") this.#addEvent(view.get(webhookEvents, parseRowNumber(key)));
    else if (kind === "delivery") this.#addDelivery(view.get(deliveries, parseRowNumber(key)));
    else if (kind === "attempt") this.#addAttempt(view.get(attempts, key.replace(".", "/")));
    else this.#addCause(name);
  }

  findRows(): TraceRows | undefined {
    if (this.#size === 0) return undefined;
    const view = this.#view;
    const foundDeliveries = [...this.#deliveries.values()];
    const events = [...this.#events.values()];
    return {
      causes: this.#causes,
      events: this.#events,
      deliveries: this.#deliveries,
      attempts: [...this.#attempts.values()],
      attemptsByDelivery: new Map(foundDeliveries.map((row) => [row.id, listAttempts(view, row)])),
      scheduledEntries: [...this.#scheduledEntries.values()],
      webhooks: new Map(foundDeliveries.map(({ webhook_id: id }) => [id, view.get(webhookRows, id)])),
      contracts: new Map(events.map(({ id, contract_id }) => [id, readCompositeId(view, contract_id)])),
      isTruncated: this.#isTruncated,
    };
  }

  get #size(): number {
    return this.#causes.size + this.#events.size + this.#deliveries.size + this.#attempts.size;
  }

  #listSome<Row extends object, Index extends string>(
    collection: Rows<Row, Index>,
    slice: IndexQuery<Index>,
  ): readonly Row[] {
    const limit = Math.max(0, maxTraceRows - this.#size);
    const rows = this.#view.list(collection, { ...slice, limit: limit + 1 });
    if (rows.length > limit) this.#isTruncated = true;
    return rows.slice(0, limit);
  }

  #addTrace(id: string): void {
    const traceCauses = this.#view.list(causes).filter(({ trace }) => trace === id);
    if (traceCauses.length > maxTraceRows) this.#isTruncated = true;
    this.#addCausesWithEffects(traceCauses.slice(0, maxTraceRows));
  }

  #addContract(id: number, composite: string): void {
    const contract = this.#view.get(contracts, id);
    if (!contract || formatCompositeId(contract) !== composite) return;
    for (const row of this.#listSome(webhookEvents, { by: "contract", equals: id })) {
      this.#addEventWithDeliveries(row);
    }
    // Some changes of a contract are not activities.
    for (const row of this.#view.list(causes)) {
      if (Number(contractPathPattern.exec(row.what)?.[1]) === id) this.#addCause(row.id);
    }
    this.#addEffects(id);
    this.#addWaiting(this.#listSome(schedule, { by: "endable", equals: toContractKey(id) }));
  }

  /** Adds the effects of the causes, except effects that only concern other contracts. */
  #addEffects(contract: number): void {
    const pending = new Set(this.#causes.keys());
    for (const cause of pending) {
      for (const effect of this.#listSome(causes, { by: "before", equals: cause })) {
        const events = this.#listSome(webhookEvents, { by: "cause", equals: effect.id });
        if (events.length > 0 && !events.some(({ contract_id }) => contract_id === contract)) continue;
        this.#addCause(effect.id);
        pending.add(effect.id);
      }
    }
  }

  /** Adds causes with all their effects and the entries that became due because they advanced the clock. */
  #addCausesWithEffects(rows: readonly CauseRow[]): void {
    const pending = new Set(rows);
    for (const { id: equals } of pending) {
      this.#addCause(equals);
      for (const event of this.#listSome(webhookEvents, { by: "cause", equals })) this.#addEventWithDeliveries(event);
      for (const effect of this.#listSome(causes, { by: "before", equals })) pending.add(effect);
      for (const attempt of this.#listSome(attempts, { by: "cause", equals })) this.#addAttempt(attempt);
      this.#addWaiting(this.#listSome(schedule, { by: "cause", equals }));
      for (const attempt of this.#listSome(attempts, { by: "moved_by", equals })) this.#addAttempt(attempt);
      for (const effect of this.#listSome(causes, { by: "moved_by", equals })) pending.add(effect);
    }
  }

  #addEventWithDeliveries(row: WebhookEvent | undefined): void {
    if (!row) return;
    this.#addEvent(row);
    for (const delivery of this.#listSome(deliveries, { by: "event", equals: row.id })) {
      this.#addDeliveryWithAttempts(delivery);
    }
  }

  #addDeliveryWithAttempts(row: Delivery | undefined): void {
    if (!row) return;
    this.#addDelivery(row);
    for (const attempt of listAttempts(this.#view, row)) this.#addAttempt(attempt);
  }

  #addDelivery(row: Delivery | undefined): void {
    if (!row || this.#deliveries.has(row.id)) return;
    this.#deliveries.set(row.id, row);
    this.#addCause(row.postponement?.cause ?? null);
    this.#addEvent(this.#view.get(webhookEvents, row.event_id));
  }

  #addAttempt(row: DeliveryAttempt | undefined): void {
    if (!row) return;
    this.#attempts.set(`${row.delivery_id}/${row.number}`, row);
    this.#addCause(row.moved_by);
    this.#addCause(row.cause);
    this.#addCause(row.fault?.cause ?? null);
    if (this.#deliveries.has(row.delivery_id)) return;
    this.#addDelivery(this.#view.get(deliveries, row.delivery_id));
  }

  #addEvent(event: WebhookEvent | undefined): void {
    if (!event || this.#events.has(event.id)) return;
    this.#events.set(event.id, event);
    this.#addCause(event.cause);
  }

  /** Adds a cause with the causes of its own. */
  #addCause(id: string | null): void {
    const pending = new Set([id]);
    for (const each of pending) {
      const row = each === null || this.#causes.has(each) ? undefined : this.#view.get(causes, each);
      if (!row) continue;
      this.#causes.set(row.id, row);
      pending.add(row.before).add(row.moved_by);
    }
  }

  #addWaiting(entries: readonly ScheduledEntry[]): void {
    for (const entry of entries) {
      this.#scheduledEntries.set(entry.id, entry);
      this.#addCause(entry.cause);
    }
  }
}

const minuteMs = 60_000;

/** Formats a delay of the schedule as the specification does: `160 min`. */
const formatSpan = (ms: number): string => (ms % minuteMs === 0 ? `${ms / minuteMs} min` : `${ms / 1_000} s`);

/** Formats the result of an attempt in a word, such as `503` or `connection_refused`. */
export const formatAttemptResult = ({ status, error }: DeliveryAttempt): string =>
  error?.code ?? String(status ?? "no response");

const describeMove = (clockAdvance: string | null): string =>
  clockAdvance === null ? "" : `; ${clockAdvance} advanced the clock`;

const describeFault = (fault: AttemptFault | null): string =>
  fault === null ? "" : `; scripted: ${formatFault(fault)}`;
export const formatFault = ({ effect, cause }: AttemptFault): string =>
  cause === null ? effect : `${effect} (${cause})`;

export function explainCause({ id, before, parent_span, moved_by }: CauseRow): string {
  if (id.startsWith("timer:"))
    return `scheduled by ${before ?? "a cause that is not retained"}${describeMove(moved_by)}`;
  if (before !== null) return `caused by ${before}`;
  return parent_span === null ? "requested by a client" : "requested by a client, in its own trace";
}

export const explainEvent = (cause: string | null): string =>
  cause === null ? "the cause is not retained" : `caused by ${cause}`;

/** Describes the cause of a delivery, with a hint if the receiver's address prevented the request. */
export function explainDelivery({ webhook_id, activity, outcome }: Delivery, webhook: Webhook | undefined): string {
  const mismatch = `webhook ${webhook_id} is subscribed to ${activity}`;
  if (outcome !== "skipped_not_allowed") return mismatch;
  const hint = webhook ? ` (to allow it, restart the emulator with --webhook-allow ${extractHost(webhook.url)})` : "";
  return `${mismatch}, but its address is not allowed${hint}`;
}

/** Formats `retry 3, 20 min after 503`. `attempts` are those of its delivery, in order. */
export function explainAttempt(attempt: DeliveryAttempt, attempts: readonly DeliveryAttempt[]): string {
  const { resend, cause, moved_by, fault } = attempt;
  if (resend) return `resent by ${cause ?? "a user"}${describeFault(fault)}`;
  const scheduled = attempts.filter(({ resend, number }) => !resend && number <= attempt.number);
  const previous = scheduled.at(-2);
  const turn = describeRetry(attempt.planned_at, scheduled.length - 1, previous);
  return `${turn}${describeLateness(attempt, previous)}${describeMove(moved_by)}${describeFault(fault)}`;
}

export function explainPlannedAttempt(
  due: number,
  { postponement }: Delivery,
  attempts: readonly DeliveryAttempt[],
  webhook: Webhook | undefined,
): string {
  const scheduled = attempts.filter(({ resend }) => !resend);
  const skipNote =
    webhook === undefined
      ? "; will be skipped: the webhook is deleted"
      : webhook.status === "ACTIVE"
        ? ""
        : `; will be skipped unless webhook ${webhook.id} is enabled first (${webhook.status})`;
  return `${describeRetry(due, scheduled.length, scheduled.at(-1))}${describeFault(postponement)}${skipNote}`;
}

const describeRetry = (due: number, retry: number, previous: DeliveryAttempt | undefined): string =>
  previous === undefined
    ? "the first attempt"
    : `retry ${retry}, ${formatSpan(due - previous.at)} after ${formatAttemptResult(previous)}`;

/**
 * Describes how late an attempt was made, in virtual time. Delays that are short in comparison with the planned one are
 * omitted, because an accelerated clock multiplies every millisecond.
 */
function describeLateness({ planned_at, at }: DeliveryAttempt, previous: DeliveryAttempt | undefined): string {
  const lateMs = at - planned_at;
  const plannedMs = planned_at - (previous?.at ?? planned_at);
  if (lateMs < Math.max(minLatenessMs, plannedMs / 10)) return "";
  const precisionMs = lateMs < 2 * minuteMs ? 1_000 : minuteMs;
  return `, ${describeDuration(Math.round(lateMs / precisionMs) * precisionMs)} late`;
}

const minLatenessMs = 1_000;
