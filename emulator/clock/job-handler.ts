import type { Transaction, View } from "../store/port.ts";
import type { ScheduledEntry } from "./schedule.ts";

/**
 * Runs the entries of one kind, in three steps: the data of the run is read, the run does the work, and its outcome is
 * committed. Steps of many entries share one view or one transaction.
 */
export interface JobHandler {
  /**
   * Reads the current state when the run starts, so changes since the entry was scheduled count. Returns one run per
   * entry.
   */
  prepare(view: View, entries: readonly ScheduledEntry[]): Promise<readonly JobRun[]>;
  /**
   * Returns how many entries of each concurrency key may run now. Without this method, entries of a key run one at a
   * time.
   */
  readCapacities?(view: View, keys: readonly string[]): Promise<readonly number[]>;
  /**
   * A short description of what a due entry does. With it, the run is a cause of its own after the cause of its entry.
   * Without it, the run has the cause of its entry, as the attempts of a delivery do.
   */
  readonly action?: string;
}
export type JobHandlers = Readonly<Record<string, JobHandler>>;

/**
 * Does the work, outside the state. Rejects when the signal aborts because the emulator closes. The work is then
 * repeated after the next start.
 */
export type JobRun = (signal: AbortSignal) => Promise<JobCommit>;

/**
 * Commits the outcome. In the same transaction the entry leaves the queue or moves to a later time. Returns the outcome
 * as one word, synchronously if nothing is awaited.
 */
export type JobCommit = (tx: Transaction) => Promise<string> | string;

/** Creates a run that only changes the state. */
export const createCommitOnlyRun =
  (commit: JobCommit): JobRun =>
  () =>
    Promise.resolve(commit);

/** Prepares the runs of entries, grouped by kind. A run whose preparation failed rejects. */
export const prepareRuns = (
  handlers: JobHandlers,
  view: View,
  entries: readonly ScheduledEntry[],
): Promise<readonly JobRun[]> => mapByKind(entries, (kind, group) => prepareKind(handlers, view, kind, group));

async function prepareKind(
  handlers: JobHandlers,
  view: View,
  kind: string,
  entries: readonly ScheduledEntry[],
): Promise<readonly JobRun[]> {
  try {
    const handler = handlers[kind];
    if (!handler) throw new Error(`No handler is registered for schedule entries of kind ${kind}`);
    return await handler.prepare(view, entries);
  } catch (error) {
    if (entries.length === 1) return [() => Promise.reject(error)];
    // One entry that fails must not affect the others of its group.
    return (await Promise.all(entries.map((entry) => prepareKind(handlers, view, kind, [entry])))).flat();
  }
}

/**
 * Reads how many entries of each concurrency key may run. The number is one if the handler does not define it or fails.
 */
export async function readCapacities(
  handlers: JobHandlers,
  view: View,
  keys: readonly { readonly kind: string; readonly name: string; capacity: number }[],
): Promise<void> {
  const capacities = await mapByKind(keys, async (kind, group) => {
    const names = group.map(({ name }) => name);
    return (await handlers[kind]?.readCapacities?.(view, names).catch(() => undefined)) ?? names.map(() => 1);
  });
  for (const [i, key] of keys.entries()) key.capacity = capacities[i]!;
}

/** Maps items to results, grouped by kind. The results have the order of the items. */
async function mapByKind<Item extends { readonly kind: string }, Result>(
  items: readonly Item[],
  map: (kind: string, group: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results = new Map<Item, Result>();
  for (const name of new Set(items.map(({ kind }) => kind))) {
    const group = items.filter(({ kind }) => kind === name);
    const groupResults = await map(name, group);
    for (const [i, item] of group.entries()) results.set(item, groupResults[i]!);
  }
  return items.map((item) => results.get(item)!);
}
