import * as z from "zod";
import type { CauseRowFactory } from "../store/causes.ts";
import { type Cause, defineNumberedRows, storedDeadline, type Transaction } from "../store/port.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/**
 * One job at a virtual time. `kind` names its job handler and `ref` its row. Entries with the same `concurrency_key`
 * (of a webhook or a contract) share a capacity.
 */
const ScheduledEntry = z.strictObject({
  id: z.int(),
  /** Virtual milliseconds. */
  due: storedDeadline(z.int()),
  kind: z.string(),
  concurrency_key: z.string(),
  /** Workspaces take turns. Null for jobs without a workspace, such as reports from a cluster to the router. */
  workspace_id: z.int().nullable(),
  ref: z.string(),
  /** Id of its cause. Null without a cause, such as at a start. */
  cause: z.string().nullable(),
});
export type ScheduledEntry = z.infer<typeof ScheduledEntry>;

/** The one durable queue (DECISIONS.md, E6). */
export const schedule = defineNumberedRows("schedule", "schedule", ScheduledEntry, {
  /** Entries of the same time are in the order of insertion, which is the order of their IDs. */
  due: (entry) => entry.due,
  /** Entries by concurrency key, only of keys whose entries may all end at once, so not the many deliveries. */
  endable: ({ concurrency_key: key }) => (key.startsWith(endablePrefix) ? key : undefined),
  /** Entries by cause. Deliveries are found through their events and are not in this index. */
  cause: ({ kind, cause }) => (kind === "deliver" ? undefined : (cause ?? undefined)),
});

const endablePrefix = "contract ";

/** The concurrency key of a contract's timers, which end when the contract leaves its state (DECISIONS.md, C22). */
export const toContractKey = (contractId: number): string => `${endablePrefix}${contractId}`;

type NewEntry = Omit<ScheduledEntry, "id" | "workspace_id" | "cause"> &
  Partial<Pick<ScheduledEntry, "id" | "workspace_id">>;

/**
 * Adds an entry to the queue in the caller's transaction, which has the cause. Without an id it gets the next number. A
 * retry keeps the id of its delivery, which preserves the order by (due, id).
 */
export function enqueue(
  tx: Transaction,
  { id = tx.next("schedule"), due, kind, concurrency_key, workspace_id = null, ref }: NewEntry,
): ScheduledEntry {
  // Fields are listed one by one: in Node 20 a copy with an extra field gets a hidden class of its own, which takes 400
  // bytes per entry.
  const entry = { id, due, kind, concurrency_key, workspace_id, ref, cause: tx.cause?.id ?? null };
  tx.put(schedule, entry);
  return entry;
}

export function endContractEntries(tx: Transaction, contractId: number): void {
  const equals = toContractKey(contractId);
  for (const entry of tx.list(schedule, { by: "endable", equals })) dequeue(tx, entry);
}

/** Removes an entry from the queue, in the transaction that records its outcome. */
export const dequeue = (tx: Transaction, entry: ScheduledEntry): void => tx.delete(schedule, entry.id);

/** The cause that put an entry into the queue. Its row was written then. */
export const getCause = ({ cause }: ScheduledEntry): Cause | undefined => (cause === null ? undefined : { id: cause });

/** Creates the cause of a run's effects: a new cause if its handler has an `action`, otherwise that of the entry. */
export function createRunCause(
  entry: ScheduledEntry,
  action: string | undefined,
  clock: VirtualClock,
  createCauseRow: CauseRowFactory,
): Cause | undefined {
  if (action === undefined) return getCause(entry);
  const id = `timer:${entry.id}`;
  const at = clock.now();
  const movedBy = clock.movedBy?.id;
  return {
    id,
    before: getCause(entry),
    createRow: (before) => createCauseRow({ id, what: action, at, before, movedBy }),
  };
}
