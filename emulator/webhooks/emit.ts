import type { Clock } from "../../src/base/clock.ts";
import { type Entry, enqueue } from "../clock/schedule.ts";
import { BodyTooLarge, maxBodyBytes } from "../http/collect.ts";
import type { Transaction } from "../store/port.ts";
import { deliveries, type WebhookEvent, webhookEvents } from "./deliveries.ts";
import { eventBody, type Occurrence } from "./payload.ts";
import { keepUntil } from "./retry-rule.ts";
import { concurrencyKeyOf, subscriptions, wants } from "./subscriptions.ts";

/** How many characters each transaction has told. */
const told = new WeakMap<Transaction, number>();

/** A notification for each of many signatories, each with all of many parties, is the square of what a request holds. */
function countTold(tx: Transaction, body: string): void {
  const length = (told.get(tx) ?? 0) + body.length;
  told.set(tx, length);
  if (length > maxBodyBytes) throw new BodyTooLarge("it tells more than a request may hold");
}

/**
 * Tells what happened to every subscription of the workspace that wants the activity, in the caller's own
 * transaction: a delivery and an entry of the schedule that is due now. A disabled subscription gets its delivery
 * too; it ends as skipped when its turn comes, so that nothing is dropped silently. Returns those entries; the ref of
 * each is the id of its delivery. Fails with BodyTooLarge where one transaction tells too much (DECISIONS.md, C24).
 */
export async function emit(tx: Transaction, clock: Clock, occurrence: Occurrence): Promise<readonly Entry[]> {
  const { workspace_id, activity } = occurrence;
  const contract_id = occurrence.contract?.contract_id ?? null;
  const due = clock.now();
  const body = eventBody(occurrence);
  countTold(tx, body);
  const wanting = await tx.list(subscriptions, { by: "wants", equals: wants(workspace_id, activity) });
  // Kept even when nobody listens: a person may wait for the activity.
  const event: WebhookEvent = {
    id: tx.next("webhook_event"),
    workspace_id,
    activity,
    contract_id,
    at: occurrence.at,
    // Serialised once: what is signed and what is sent are the same bytes, in every attempt (DECISIONS.md, C17).
    body,
    keep_until: wanting.length === 0 ? keepUntil("other", due) : null,
    cause: tx.cause?.id ?? null,
  };
  tx.put(webhookEvents, event);
  return wanting.map(({ id: webhook_id }) => {
    const id = tx.next("delivery");
    const entry = enqueue(tx, {
      due,
      kind: "deliver",
      concurrency_key: concurrencyKeyOf(webhook_id),
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
