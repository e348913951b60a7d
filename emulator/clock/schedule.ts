import * as z from "zod";
import type { Cause } from "../store/cause.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import { rows, type Transaction } from "../store/port.ts";
import { storedDeadline } from "../store/stored-time.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/**
 * One job at a virtual time. `kind` names its job handler, `ref` the row; entries of one `concurrency_key` (of a
 * webhook, of a contract) share a capacity.
 */
const ScheduledEntry = z.strictObject({
  id: z.int(),
  /** Virtual milliseconds. */
  due: storedDeadline(z.int()),
  kind: z.string(),
  concurrency_key: z.string(),
  /** Workspaces take turns; null: of none, such as what a cluster reports to the router. */
  workspace_id: z.int().nullable(),
  ref: z.string(),
  /** Id of its cause; null: none, as for a start. */
  cause: z.string().nullable(),
});
export type ScheduledEntry = z.infer<typeof ScheduledEntry>;

/** The one durable queue (DECISIONS.md, E6). */
export const schedule = rows<ScheduledEntry, "turn" | "endable" | "asked_by">({
  name: "schedule",
  schema: ScheduledEntry,
  key: (entry) => entry.id,
  numbers: { schedule: (entry) => entry.id },
  indexes: {
    /** Its order: by due, then by id. */
    turn: (entry) => dueSortKey(entry.due, entry.id),
    /**
     * By concurrency key, for keys whose entries may all end at once: deliveries, which are many, cost nothing here.
     */
    endable: ({ concurrency_key: key }) => (key.startsWith(endable) ? key : undefined),
    /** By cause; deliveries are found through their events, and cost nothing here. */
    asked_by: ({ kind, cause }) => (kind === "deliver" ? undefined : (cause ?? undefined)),
  },
});

const endable = "contract ";

/** The concurrency key of the timers of a contract: they end when the contract leaves its state (DECISIONS.md, C22). */
export const contractKey = (contractId: number): string => `${endable}${contractId}`;

/** A string that sorts by due, then by id. */
export const dueSortKey = (due: number, id: number): string => `${padNumber(due)}:${padNumber(id)}`;

const zeros = Array.from({ length: 16 }, (_, count) => "0".repeat(count));

/** To 15 digits, or unchanged if it has more. Not by padStart, which creates its zeros again each time. */
function padNumber(number: number): string {
  const digits = String(number);
  return (zeros[15 - digits.length] ?? "") + digits;
}

/** After every entry that is due at `due`, and before all later ones. */
export const dueSortKeyEnd = (due: number): string => dueSortKey(due, Number.MAX_SAFE_INTEGER);

type NewEntry = Omit<ScheduledEntry, "id" | "workspace_id" | "cause"> &
  Partial<Pick<ScheduledEntry, "id" | "workspace_id">>;

/**
 * Adds an entry to the queue, in the caller's own transaction, which has the cause. Without an id it gets the next
 * number; a retry keeps the id of its delivery, so that order is by (due, id).
 */
export function enqueue(
  tx: Transaction,
  { id = tx.next("schedule"), due, kind, concurrency_key, workspace_id = null, ref }: NewEntry,
): ScheduledEntry {
  // Named one by one: in Node 20 a copy with a field more would get a hidden class of its own, 400 bytes an entry.
  const entry = { id, due, kind, concurrency_key, workspace_id, ref, cause: tx.cause?.id ?? null };
  tx.put(schedule, entry);
  return entry;
}

/** Takes out of the queue whatever a contract waits for. */
export async function endContractEntries(tx: Transaction, contractId: number): Promise<void> {
  const equals = contractKey(contractId);
  for (const entry of await tx.list(schedule, { by: "endable", equals })) dequeue(tx, entry);
}

/** Takes an entry out of the queue: in the transaction that records its outcome. */
export const dequeue = (tx: Transaction, entry: ScheduledEntry): void => tx.delete(schedule, entry.id);

/** Why an entry was put into the queue; its row was written then. */
export const causeOf = ({ cause }: ScheduledEntry): Cause | undefined => (cause === null ? undefined : { id: cause });

/** Cause of the effects of a run: a cause of its own if its handler `does` something, else that of its entry. */
export function causeOfRun(
  entry: ScheduledEntry,
  does: string | undefined,
  clock: VirtualClock,
  make: MakeCauseRow,
): Cause | undefined {
  if (does === undefined) return causeOf(entry);
  const id = `timer:${entry.id}`;
  const at = clock.now();
  const movedBy = clock.movedBy?.id;
  return { id, before: causeOf(entry), row: (before) => make({ id, what: does, at, before, movedBy }) };
}
