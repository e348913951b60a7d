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
export async function gatherTrace(view: View, ref: TraceRef): Promise<TraceRows | undefined> {
  const gatherer = new TraceGatherer(view);
  await gatherer.begin(ref);
  return gatherer.findRows();
}

/** Reads the named nodes and their causes. Returns undefined if none of them is stored. */
export async function gatherTraceNodes(view: View, names: Iterable<string>): Promise<TraceRows | undefined> {
  const gatherer = new TraceGatherer(view);
  for (const name of names) await gatherer.addNamed(name);
  return gatherer.findRows();
}

/** Matches the number of the contract in a request's path, by either ID (DECISIONS.md, C12). */
const contractPathPattern = /\/contracts\/(?:[TH]-)?(\d{1,15})(?:[/? ]|$)/;

/** Returns the only contract that is named by these causes or that their events concern. Null if there is none. */
export async function findContractOfCauses(view: View, rows: readonly CauseRow[]): Promise<string | null> {
  const found = new Set<number>();
  for (const { id, what } of rows) {
    const [, named] = contractPathPattern.exec(what) ?? [];
    if (named !== undefined) found.add(Number(named));
    const events = await view.list(webhookEvents, { by: "cause", equals: id, limit: maxDeliveriesPerWebhook });
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
  readonly #completedCauses = new Set<string>();
  #isTruncated = false;

  constructor(view: View) {
    this.#view = view;
  }

  async begin(ref: TraceRef): Promise<void> {
    const view = this.#view;
    switch (ref.by) {
      case "cause":
        return this.#addCauseWithEffects(await view.get(causes, ref.id));
      case "trace":
        return this.#addTrace(ref.id);
      case "event":
        return this.#addEventWithDeliveries(await view.get(webhookEvents, ref.id));
      case "delivery":
        return this.#addDeliveryWithAttempts(await view.get(deliveries, ref.id));
      case "webhook": {
        const newest = await view.list(deliveries, {
          by: "webhook",
          equals: ref.id,
          reverse: true,
          limit: maxDeliveriesPerWebhook,
        });
        for (const row of newest) await this.#addDeliveryWithAttempts(row);
        return;
      }
      case "contract":
        return this.#addContract(ref.id, ref.composite);
    }
  }

  async addNamed(name: string): Promise<void> {
    const view = this.#view;
    const key = name.slice(name.indexOf(":") + 1);
    switch (name.slice(0, name.indexOf(":"))) {
      case "event":
        return this.#addEvent(await view.get(webhookEvents, parseRowNumber(key)));
      case "delivery":
        return this.#addDelivery(await view.get(deliveries, parseRowNumber(key)));
      case "attempt": {
        const row = await view.get(attempts, key.replace(".", "/"));
        return row && this.#addAttempt(row);
      }
      default:
        return this.#addCause(name);
    }
  }

  async findRows(): Promise<TraceRows | undefined> {
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
      webhooks: new Map(foundDeliveries.map(({ webhook_id: id }) => [id, view.getSync(webhookRows, id)])),
      contracts: new Map(events.map(({ id, contract_id }) => [id, readCompositeId(view, contract_id)])),
      isTruncated: this.#isTruncated,
    };
  }

  get #size(): number {
    return this.#causes.size + this.#events.size + this.#deliveries.size + this.#attempts.size;
  }

  async #listSome<Row extends object, Index extends string>(
    collection: Rows<Row, Index>,
    slice: IndexQuery<Index>,
  ): Promise<readonly Row[]> {
    const limit = Math.max(0, maxTraceRows - this.#size);
    const rows = await this.#view.list(collection, { ...slice, limit: limit + 1 });
    if (rows.length > limit) this.#isTruncated = true;
    return rows.slice(0, limit);
  }

  async #addTrace(id: string): Promise<void> {
    const traceCauses = (await this.#view.list(causes)).filter(({ trace }) => trace === id);
    if (traceCauses.length > maxTraceRows) this.#isTruncated = true;
    for (const row of traceCauses.slice(0, maxTraceRows)) await this.#addCauseWithEffects(row);
  }

  async #addContract(id: number, composite: string): Promise<void> {
    const contract = await this.#view.get(contracts, id);
    if (!contract || formatCompositeId(contract) !== composite) return;
    for (const row of await this.#listSome(webhookEvents, { by: "contract", equals: id })) {
      await this.#addEventWithDeliveries(row);
    }
    // Some changes of a contract are not activities.
    for (const row of await this.#view.list(causes)) {
      if (Number(contractPathPattern.exec(row.what)?.[1]) === id) await this.#addCause(row.id);
    }
    for (const cause of [...this.#causes.keys()]) await this.#addEffects(cause, id);
    await this.#addWaiting(await this.#listSome(schedule, { by: "endable", equals: toContractKey(id) }));
  }

  /** Adds the effects of a cause, except effects that only concern other contracts. */
  async #addEffects(cause: string, contract: number): Promise<void> {
    for (const effect of await this.#listSome(causes, { by: "before", equals: cause })) {
      const events = await this.#listSome(webhookEvents, { by: "cause", equals: effect.id });
      if (events.length > 0 && !events.some(({ contract_id }) => contract_id === contract)) continue;
      await this.#addCause(effect.id);
      await this.#addEffects(effect.id, contract);
    }
  }

  /** Adds a cause with all its effects and the entries that became due because it advanced the clock. */
  async #addCauseWithEffects(row: CauseRow | undefined): Promise<void> {
    if (!row || this.#completedCauses.has(row.id)) return;
    this.#completedCauses.add(row.id);
    await this.#addCause(row.id);
    const equals = row.id;
    for (const event of await this.#listSome(webhookEvents, { by: "cause", equals })) {
      await this.#addEventWithDeliveries(event);
    }
    for (const effect of await this.#listSome(causes, { by: "before", equals }))
      await this.#addCauseWithEffects(effect);
    for (const attempt of await this.#listSome(attempts, { by: "cause", equals })) await this.#addAttempt(attempt);
    await this.#addWaiting(await this.#listSome(schedule, { by: "cause", equals }));
    for (const attempt of await this.#listSome(attempts, { by: "moved_by", equals })) await this.#addAttempt(attempt);
    for (const effect of await this.#listSome(causes, { by: "moved_by", equals }))
      await this.#addCauseWithEffects(effect);
  }

  async #addEventWithDeliveries(row: WebhookEvent | undefined): Promise<void> {
    if (!row) return;
    await this.#addEvent(row);
    for (const delivery of await this.#listSome(deliveries, { by: "event", equals: row.id })) {
      await this.#addDeliveryWithAttempts(delivery);
    }
  }

  async #addDeliveryWithAttempts(row: Delivery | undefined): Promise<void> {
    if (!row) return;
    await this.#addDelivery(row);
    for (const attempt of listAttempts(this.#view, row)) await this.#addAttempt(attempt);
  }

  async #addDelivery(row: Delivery | undefined): Promise<void> {
    if (!row || this.#deliveries.has(row.id)) return;
    this.#deliveries.set(row.id, row);
    await this.#addCause(row.postponement?.cause ?? null);
    await this.#addEvent(await this.#view.get(webhookEvents, row.event_id));
  }

  async #addAttempt(row: DeliveryAttempt): Promise<void> {
    this.#attempts.set(`${row.delivery_id}/${row.number}`, row);
    await this.#addCause(row.moved_by);
    await this.#addCause(row.cause);
    await this.#addCause(row.fault?.cause ?? null);
    if (this.#deliveries.has(row.delivery_id)) return;
    await this.#addDelivery(await this.#view.get(deliveries, row.delivery_id));
  }

  async #addEvent(event: WebhookEvent | undefined): Promise<void> {
    if (!event || this.#events.has(event.id)) return;
    this.#events.set(event.id, event);
    await this.#addCause(event.cause);
  }

  async #addCause(id: string | null): Promise<void> {
    if (id === null || this.#causes.has(id)) return;
    const row = await this.#view.get(causes, id);
    if (!row) return;
    this.#causes.set(id, row);
    await this.#addCause(row.before);
    await this.#addCause(row.moved_by);
  }

  async #addWaiting(entries: readonly ScheduledEntry[]): Promise<void> {
    for (const entry of entries) {
      this.#scheduledEntries.set(entry.id, entry);
      await this.#addCause(entry.cause);
    }
  }
}

const minuteMs = 60_000;

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
  return `, ${formatSpan(Math.round(lateMs / precisionMs) * precisionMs)} late`;
}

const minLatenessMs = 1_000;
