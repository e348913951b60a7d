import type * as z from "zod";
import type { Activity } from "../../src/api/activities.ts";
import type { ContractFacts as DeclaredContractFacts } from "../../src/api/contracts/webhook-payloads.ts";
import { type Clock, toIsoMicros } from "../../src/base/clock.ts";
import { toExactJson } from "../../src/base/json.ts";
import { enqueue, type ScheduledEntry } from "../clock/schedule.ts";
import { MaxBodyBytesExceededError, maxBodyBytes } from "../http/bodies/request-body-reader.ts";
import type { Transaction } from "../store/port.ts";
import { deliveries, getWebhookObserver, type WebhookEvent, webhookEvents } from "./deliveries.ts";
import { getRetentionEnd } from "./record.ts";
import { toActivityKey, toConcurrencyKey, webhookRows } from "./webhooks.ts";

/** Number of characters that each transaction has emitted. */
const emittedLengths = new WeakMap<Transaction, number>();

/** Notifications for many signatories, each with all parties, grow with the square of the request size. */
function limitEmittedLength(tx: Transaction, body: string): void {
  const length = (emittedLengths.get(tx) ?? 0) + body.length;
  emittedLengths.set(tx, length);
  if (length > maxBodyBytes) throw new MaxBodyBytesExceededError("its payload exceeds the size limit of a request");
}

/**
 * Stores a delivery and an entry of the schedule for each webhook that subscribes to the activity. A disabled webhook
 * also gets them, so that each skipped event is visible. `webhookId` limits the notification to one webhook. Returns
 * the entries, which are due now. The ref of an entry is the ID of its delivery. Throws MaxBodyBytesExceededError if
 * the transaction emits too much (DECISIONS.md, C24).
 */
export function emitEvent(
  tx: Transaction,
  clock: Clock,
  domainEvent: DomainEvent,
  webhookId?: number,
): readonly ScheduledEntry[] {
  const { workspace_id, activity } = domainEvent;
  const contract_id = domainEvent.contract?.contract_id ?? null;
  const due = clock.now();
  const observer = getWebhookObserver(clock);
  const document = toExactJson(createAmendedDocument(domainEvent));
  const body = observer?.amendBody(activity, document) ?? document;
  limitEmittedLength(tx, body);
  const subscribers = observer?.isSilent(activity)
    ? []
    : tx.list(webhookRows, { by: "activity", equals: toActivityKey(workspace_id, activity) });
  const targetWebhooks = webhookId === undefined ? subscribers : subscribers.filter(({ id }) => id === webhookId);
  // The event is stored even without webhooks, because a client can wait for the activity.
  const event: WebhookEvent = {
    id: tx.next("webhook_event"),
    workspace_id,
    activity,
    contract_id,
    at: domainEvent.at,
    // The signed and the sent bytes are the same in every attempt (DECISIONS.md, C17).
    body,
    keep_until: targetWebhooks.length === 0 ? getRetentionEnd("other", due) : null,
    cause: tx.cause?.id ?? null,
  };
  tx.put(webhookEvents, event);
  return targetWebhooks.map(({ id: webhook_id }) => {
    const id = tx.next("delivery");
    const entry = enqueue(tx, {
      due,
      kind: "deliver",
      concurrency_key: toConcurrencyKey(webhook_id),
      workspace_id,
      ref: String(id),
    });
    tx.put(deliveries, {
      id,
      event_id: event.id,
      webhook_id,
      workspace_id,
      activity,
      contract_id,
      entry_id: entry.id,
      outcome: "waiting",
      attempts: 0,
      failures: 0,
      next_attempt_at: due,
      postponement: null,
      created_at: due,
      keep_until: null,
    });
    return entry;
  });
}

/** Contract of a payload with its keys in order, which the cluster creates from its rows. */
export type EventContract = Readonly<z.infer<typeof DeclaredContractFacts>>;

export interface Performer {
  readonly name: string;
  readonly email?: string;
}

/** Performer of actions of the service itself. */
export const systemPerformer: Performer = { name: "SYSTEM" };

/** An activity in a workspace that is sent to its webhooks. */
export interface DomainEvent {
  readonly workspace_id: number;
  readonly activity: Activity;
  /** Virtual milliseconds. */
  readonly at: number;
  readonly performed_by: Performer;
  /** Undefined for an activity of a counterparty that has no contract yet (DECISIONS.md, C17). */
  readonly contract?: EventContract | undefined;
  /** Additional keys of `activity_data`. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  /** Changes fields of the finished body. */
  readonly amend?: ((body: object) => object) | undefined;
}

/** Keys are in the order of DECISIONS.md, F21. Numbers keep their spelling (src/base/json.ts). */
export function createAmendedDocument(domainEvent: DomainEvent): object {
  const { activity, at, performed_by, contract, data, amend } = domainEvent;
  const { name, email } = performed_by;
  const performer = { name, ...(email !== undefined && { email }) };
  const activity_data = { performed_by: performer, timestamp: toIsoMicros(at), ...data };
  const body = { activity, activity_data, ...contract };
  return amend ? amend(body) : body;
}
