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

/** A run that only changes the state. */
export const createCommitOnlyRun =
  (commit: JobCommit): JobRun =>
  () =>
    Promise.resolve(commit);

/** Prepares the runs of entries, grouped by kind. A run whose preparation failed rejects. */
export const prepareRuns = (
  handlers: JobHandlers,
  view: View,
  entries: readonly ScheduledEntry[],
): Promise<readonly JobRun[]> => mapByKind(entries, (kind, alike) => prepareKind(handlers, view, kind, alike));

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
  const capacities = await mapByKind(keys, async (kind, alike) => {
    const names = alike.map(({ name }) => name);
    return (await handlers[kind]?.readCapacities?.(view, names).catch(() => undefined)) ?? names.map(() => 1);
  });
  for (const [i, key] of keys.entries()) key.capacity = capacities[i]!;
}

/** Maps items to results, grouped by kind. The results have the order of the items. */
async function mapByKind<Thing extends { readonly kind: string }, Result>(
  things: readonly Thing[],
  map: (kind: string, alike: readonly Thing[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results = new Map<Thing, Result>();
  for (const name of new Set(things.map(({ kind }) => kind))) {
    const alike = things.filter(({ kind }) => kind === name);
    const found = await map(name, alike);
    for (const [i, thing] of alike.entries()) results.set(thing, found[i]!);
  }
  return things.map((thing) => results.get(thing)!);
}
