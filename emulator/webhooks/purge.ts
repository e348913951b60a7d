import { purgeCauses } from "../store/causes.ts";
import type { Transaction } from "../store/port.ts";
import { purgeEmails } from "../world/emails.ts";
import { attemptKeys, attempts, deliveries, webhookEvents } from "./deliveries.ts";

/**
 * Drops records whose time is over (DECISIONS.md, C21), at most `limit` of each kind, in the caller's transaction:
 * expiry is never queued, else mode auto would leap to it. Says how many there were.
 */
export async function purge(tx: Transaction, now: number, limit = 50): Promise<number> {
  const over = await tx.list(deliveries, { by: "keep_until", to: now, limit });
  for (const delivery of over) {
    const { id, event_id } = delivery;
    for (const key of attemptKeys(delivery)) tx.delete(attempts, key);
    tx.delete(deliveries, id);
    const others = await tx.count(deliveries, { by: "event", equals: event_id });
    if (others === 0) tx.delete(webhookEvents, event_id);
  }
  const unheard = await tx.list(webhookEvents, { by: "keep_until", to: now, limit });
  for (const { id } of unheard) tx.delete(webhookEvents, id);
  const emails = await purgeEmails(tx, now, limit);
  return over.length + unheard.length + emails + (await purgeCauses(tx, now, limit));
}
