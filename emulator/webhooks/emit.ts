import type * as z from "zod";
import type { Activity } from "../../src/api/activities.ts";
import type { ContractFacts as declared } from "../../src/api/contracts/webhook-payloads.ts";
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

/**
 * Limits the emitted characters of a transaction. Notifications for many signatories, each with all parties, grow with
 * the square of the request size.
 */
function limitEmittedLength(tx: Transaction, body: string): void {
  const length = (emittedLengths.get(tx) ?? 0) + body.length;
  emittedLengths.set(tx, length);
  if (length > maxBodyBytes) throw new MaxBodyBytesExceededError("its payload exceeds the size limit of a request");
}

/**
 * Notifies every webhook of the workspace that subscribes to the activity, in the caller's transaction. Each
 * notification stores a delivery and an entry of the schedule that is due now. A disabled webhook also gets a delivery,
 * which is skipped when it is due, so that each skipped event is visible. Returns the entries. The ref of an entry is
 * the id of its delivery. `only` limits the notification to one webhook. Throws MaxBodyBytesExceededError if the
 * transaction emits too much (DECISIONS.md, C24).
 */
export async function emitEvent(
  tx: Transaction,
  clock: Clock,
  domainEvent: DomainEvent,
  only?: number,
): Promise<readonly ScheduledEntry[]> {
  const { workspace_id, activity } = domainEvent;
  const contract_id = domainEvent.contract?.contract_id ?? null;
  const due = clock.now();
  const observer = getWebhookObserver(clock);
  const plain = serializeEvent(domainEvent);
  const body = observer?.amendBody(activity, plain) ?? plain;
  limitEmittedLength(tx, body);
  const subscribed = observer?.isSilent(activity)
    ? []
    : await tx.list(webhookRows, { by: "activity", equals: toActivityKey(workspace_id, activity) });
  const receivers = only === undefined ? subscribed : subscribed.filter(({ id }) => id === only);
  // The event is stored even without webhooks, because a client can wait for the activity.
  const event: WebhookEvent = {
    id: tx.next("webhook_event"),
    workspace_id,
    activity,
    contract_id,
    at: domainEvent.at,
    // The body is serialized once, so that the signed and the sent bytes are the same in every attempt (DECISIONS.md,
    // C17).
    body,
    keep_until: receivers.length === 0 ? getRetentionEnd("other", due) : null,
    cause: tx.cause?.id ?? null,
  };
  tx.put(webhookEvents, event);
  return receivers.map(({ id: webhook_id }) => {
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
      put_off: null,
      created_at: due,
      keep_until: null,
    });
    return entry;
  });
}

/** Contract of a payload, which the cluster creates from its rows. */
export type EventContract = Readonly<z.infer<typeof declared>>;

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
  readonly data?: Readonly<Record<string, unknown>>;
  /** Changes fields of the finished body. */
  readonly amend?: ((body: object) => object) | undefined;
}

/**
 * Formats the body of an event as compact JSON with keys in the order of DECISIONS.md, F21, and times in microseconds.
 */
export function serializeEvent(domainEvent: DomainEvent): string {
  return toExactJson(createAmendedDocument(domainEvent));
}

/** Creates the body as an object in which numbers keep their spelling (src/base/json.ts). */
export function createAmendedDocument(domainEvent: DomainEvent): object {
  const body = createEventDocument(domainEvent);
  return domainEvent.amend ? domainEvent.amend(body) : body;
}

function createEventDocument({ activity, at, performed_by, contract, data }: DomainEvent): object {
  return {
    activity,
    activity_data: { performed_by: toPerformer(performed_by), timestamp: toIsoMicros(at), ...data },
    ...(contract && {
      contract_id: contract.contract_id,
      contract_title: contract.contract_title,
      contract_type: contract.contract_type,
      contract_type_name: contract.contract_type_name,
      contract_type_id: contract.contract_type_id,
      contract_status: contract.contract_status,
      contract_kind: contract.contract_kind,
      business_user: toPerformer(contract.business_user),
      legal_user: contract.legal_user && toPerformer(contract.legal_user),
      created_at: contract.created_at,
      counterparties: contract.counterparties,
      external_metadata: contract.external_metadata,
      entity: contract.entity,
      contract_reference_id: contract.contract_reference_id,
      contract_template_id: contract.contract_template_id,
    }),
  };
}

const toPerformer = ({ name, email }: Performer): Performer => ({ name, ...(email !== undefined && { email }) });
