import * as z from "zod";
import { rows, type Transaction } from "../store/store.ts";

/** One thing to do at a virtual time. `lane` groups entries that share a limit (a subscription); `ref` names the row. */
const Entry = z.strictObject({
  id: z.int(),
  due: z.number(),
  kind: z.string(),
  lane: z.string(),
  ref: z.string(),
});
export type Entry = z.infer<typeof Entry>;

/** The one durable queue (design.md, section 7). Order is by due, then id. */
export const schedule = rows<Entry, "due">({
  name: "schedule",
  schema: Entry,
  key: (entry) => String(entry.id),
  indexes: { due: (entry) => entry.due },
});

/**
 * Puts an entry into the queue, in the caller's own transaction. Without an id it takes the next number; a retry
 * keeps the id of its delivery, so that order is by (due, id).
 */
export function enqueue(tx: Transaction, entry: Omit<Entry, "id"> & { readonly id?: number }): Entry {
  const whole = { ...entry, id: entry.id ?? tx.next("schedule") };
  tx.put(schedule, whole);
  return whole;
}
