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
export function prepareRuns(
  handlers: JobHandlers,
  view: View,
  entries: readonly ScheduledEntry[],
): Promise<readonly JobRun[]> {
  return mapByKind(entries, (kind, alike) => prepareKind(handlers, view, kind, alike));
}

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

/** Asks each kind once, about all that is of it. The responses come in the order of the things. */
export async function mapByKind<Thing extends { readonly kind: string }, Answer>(
  things: readonly Thing[],
  ask: (kind: string, alike: readonly Thing[]) => Promise<readonly Answer[]>,
): Promise<readonly Answer[]> {
  const kinds = new Set(things.map(({ kind }) => kind));
  if (kinds.size === 0) return [];
  if (kinds.size === 1) return ask(things[0]!.kind, things);
  const answers = new Map<Thing, Answer>();
  for (const name of kinds) {
    const alike = things.filter(({ kind }) => kind === name);
    const found = await ask(name, alike);
    for (const [i, thing] of alike.entries()) answers.set(thing, found[i]!);
  }
  return things.map((thing) => answers.get(thing)!);
}
