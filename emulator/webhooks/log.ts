import type { recordDelivery } from "../../src/api/emulator/deliveries.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { hasSucceeded } from "../../src/api/webhook-health/attempts.ts";
import type { WebhookJsonForm } from "../../src/base/json.ts";
import { enqueue, type ScheduledEntry } from "../clock/schedule.ts";
import { purgeEmails } from "../domain/emails.ts";
import { purgeCauses } from "../store/causes.ts";
import type { Store, Transaction, View } from "../store/port.ts";
import { listPage, type RowFilter } from "../store/rows.ts";
import {
  attempts,
  type Delivery,
  deliveries,
  formatEventBody,
  listAttemptKeys,
  listAttempts,
  webhookEvents,
} from "./deliveries.ts";
import { getRetentionEnd } from "./record.ts";
import { toConcurrencyKey, type Webhook, webhookRows } from "./webhooks.ts";

/** Filter of the log. A record must match all given fields. */
type DeliveryFilter = RowFilter<Pick<Delivery, "workspace_id" | "webhook_id" | "activity" | "contract_id" | "outcome">>;

/** Returns one page of the log, newest first, and the total number of matching records. */
export const listDeliveries = (
  view: View,
  filter: DeliveryFilter,
  page: { readonly offset: number; readonly limit: number },
) => listPage(view, deliveries, page, filter, { contract_id: "contract", webhook_id: "webhook", outcome: "outcome" });

/** Returns a delivery with its attempts and the body that is sent. Returns undefined if the delivery does not exist. */
export function showDelivery(view: View, id: number, form: WebhookJsonForm = "compact") {
  const delivery = view.get(deliveries, id);
  if (!delivery) return undefined;
  const event = view.get(webhookEvents, delivery.event_id);
  const requestBody = formatEventBody(event, form);
  return { delivery, attempts: listAttempts(view, delivery), requestBody, headers: event?.headers };
}

/** Deletes the expired records. The request is not recorded as the cause, because a user cannot undo the deletion. */
export async function deleteExpiredRecords(store: Store, now: number): Promise<void> {
  const batch = 500;
  const countExpired = () => store.count(deliveries, { by: "keep_until", to: now });
  while (countExpired() > 0)
    await store.transaction("deliveries.drop-expired", (tx) => purgeWebhookRecords(tx, now, batch), null);
}

/**
 * Deletes at most `limit` expired records of each kind, and returns their number. Expiry is not in the queue, because
 * mode auto would jump to it (DECISIONS.md, C21).
 */
export function purgeWebhookRecords(tx: Transaction, now: number, limit = 50): number {
  const expiredDeliveries = tx.list(deliveries, { by: "keep_until", to: now, limit });
  for (const delivery of expiredDeliveries) {
    const { id, event_id } = delivery;
    for (const key of listAttemptKeys(delivery)) tx.delete(attempts, key);
    tx.delete(deliveries, id);
    const remaining = tx.count(deliveries, { by: "event", equals: event_id });
    if (remaining === 0) tx.delete(webhookEvents, event_id);
  }
  const unsentEvents = tx.list(webhookEvents, { by: "keep_until", to: now, limit });
  for (const { id } of unsentEvents) tx.delete(webhookEvents, id);
  const emails = purgeEmails(tx, now, limit);
  return expiredDeliveries.length + unsentEvents.length + emails + purgeCauses(tx, now, limit);
}

/** Schedules an attempt outside the schedule that is due now (DECISIONS.md, C18). Returns the entry. */
export function scheduleResend(tx: Transaction, delivery: Delivery, now: number): ScheduledEntry {
  return enqueue(tx, {
    due: now,
    kind: "resend",
    concurrency_key: toConcurrencyKey(delivery.webhook_id),
    workspace_id: delivery.workspace_id,
    ref: String(delivery.id),
  });
}

/**
 * Records a delivery by another program to the URL of a webhook. It has no other effects: nothing is sent, and the
 * webhook's failures are not counted.
 */
export function recordForeignDelivery(
  tx: Transaction,
  { id: webhook_id, workspace_id, url }: Webhook,
  request: InputOf<typeof recordDelivery>["body"],
  now: number,
): Delivery {
  const { activity, label, headers, body, status, error = null, duration_ms, response_body = null } = request;
  const cause = tx.cause?.id ?? null;
  const event_id = tx.next("webhook_event");
  const commonFields = { workspace_id, activity, contract_id: null };
  tx.put(webhookEvents, { ...commonFields, id: event_id, at: now, body, headers, keep_until: null, cause });
  const isDelivered = error === null && hasSucceeded({ status });
  const delivery: Delivery = {
    ...commonFields,
    id: tx.next("delivery"),
    event_id,
    webhook_id,
    label,
    entry_id: 0,
    outcome: isDelivered ? "delivered" : "failed",
    attempts: 1,
    failures: isDelivered ? 0 : 1,
    next_attempt_at: null,
    postponement: null,
    created_at: now,
    keep_until: getRetentionEnd(isDelivered ? "delivered" : "other", now),
  };
  tx.put(deliveries, delivery);
  tx.put(attempts, {
    delivery_id: delivery.id,
    number: 1,
    resend: false,
    scheduled_number: 1,
    planned_at: now,
    at: now,
    wall_at: now,
    cause,
    moved_by: null,
    fault: null,
    url,
    status,
    error,
    duration_ms,
    response_body,
  });
  return delivery;
}

/** Returns the last delivery of each contract of a workspace to a webhook that exists, if there is one. */
export function listLatestDeliveries(view: View, workspaceId: number, contractIds: readonly number[]) {
  const isOpen = ({ webhook_id }: Delivery) => view.get(webhookRows, webhook_id)?.workspace_id === workspaceId;
  return [...new Set(contractIds)].flatMap((id) => {
    const contractDeliveries = view.list(deliveries, { by: "contract", equals: id, reverse: true });
    return contractDeliveries.find(isOpen) ?? [];
  });
}
