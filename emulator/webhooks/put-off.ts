import { type Entry, endOf, enqueue, schedule, turnOf } from "../clock/schedule.ts";
import type { Interference, PutOff } from "../faults/intervention.ts";
import type { Transaction } from "../store/port.ts";
import { deliveries, faultOf } from "./deliveries.ts";

/** How far behind another attempt one goes that lets it pass: enough for it to arrive first in any mode of the clock. */
const behindMs = 1_000;

/** Moves an attempt to a later virtual time without making it: nothing is counted. Returns the outcome in a word. */
export async function putOff(
  tx: Transaction,
  entry: Entry,
  { byMs, behindNext }: PutOff,
  by: Interference,
  now: number,
): Promise<string> {
  const waiting = await tx.get(schedule, entry.id);
  const delivery = await tx.get(deliveries, Number(entry.ref));
  if (waiting?.due !== entry.due || !delivery) return "gone";
  const next = behindNext ? await nextOfKey(tx, entry, now + byMs) : undefined;
  const due = next ? next.due + behindMs : now + byMs;
  enqueue(tx, { ...entry, due });
  const put_off = faultOf(by);
  await tx.because(by.cause, () => tx.put(deliveries, { ...delivery, next_attempt_at: due, put_off }));
  return "put_off";
}

/** What comes after an entry of its concurrency key, when it is due by `until`. */
async function nextOfKey(tx: Transaction, entry: Entry, until: number): Promise<Entry | undefined> {
  const slice = { by: "turn", from: turnOf(entry.due, entry.id + 1), to: endOf(until) } as const;
  return (await tx.list(schedule, slice)).find((other) => other.concurrency_key === entry.concurrency_key);
}
