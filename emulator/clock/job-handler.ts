import type { Transaction, View } from "../store/port.ts";
import type { ScheduledEntry } from "./schedule.ts";

/**
 * Runs the entries of one kind, in three steps: the data of the run is read, the run does the work, and its outcome is
 * committed. Steps of many entries share one view or one transaction.
 */
export interface JobHandler {
  /** Reads the state as it is when the run begins: changes since the entry was scheduled decide. One run for each. */
  prepare(view: View, entries: readonly ScheduledEntry[]): Promise<readonly JobRun[]>;
  /** How many entries of each concurrency key may be under way now; without it, one after the other. */
  capacity?(view: View, keys: readonly string[]): Promise<readonly number[]>;
  /**
   * Describes the action of a due entry in a few words: the run is a cause of its own then, after that of the entry.
   * Without it, it continues with the cause of its entry, as the attempts of a delivery do.
   */
  readonly does?: string;
}
export type JobHandlers = Readonly<Record<string, JobHandler>>;

/**
 * Does the work, outside the state. Rejects when the signal broke it off, for the emulator closes: it is done again
 * after the next start.
 */
export type JobRun = (signal: AbortSignal) => Promise<JobCommit>;

/**
 * Commits the outcome: in this transaction the entry leaves the queue or moves to a later time. Returns the outcome in
 * a word, synchronously if it waits for nothing.
 */
export type JobCommit = (tx: Transaction) => Promise<string> | string;

/** A run that is nothing but a change of the state. */
export const createCommitOnlyRun =
  (commit: JobCommit): JobRun =>
  () =>
    Promise.resolve(commit);

/** Prepares the runs of entries, those of one kind together. A run whose preparation failed rejects. */
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
    // One of them fails the others, which must not suffer.
    return (await Promise.all(entries.map((entry) => prepareKind(handlers, view, kind, [entry])))).flat();
  }
}

/** Reads how many entries of each concurrency key may run; one at a time if its handler does not say, or fails. */
export async function readCapacities(
  handlers: JobHandlers,
  view: View,
  keys: readonly { readonly kind: string; readonly name: string; capacity: number }[],
): Promise<void> {
  const capacities = await mapByKind(keys, async (kind, alike) => {
    const names = alike.map(({ name }) => name);
    return (await handlers[kind]?.capacity?.(view, names).catch(() => undefined)) ?? names.map(() => 1);
  });
  for (const [i, key] of keys.entries()) key.capacity = capacities[i]!;
}

/** Maps things to results, all of one kind at once. The results come in the order of the things. */
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
