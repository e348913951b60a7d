import type { Transaction, View } from "../store/port.ts";
import type { ScheduledEntry } from "./schedule.ts";

/**
 * What is done for the entries of one kind, in three steps: what the run needs is read, the run does the work, and its
 * outcome is committed. Steps of many entries share one view or one transaction.
 */
export interface JobHandler {
  /** Reads the state as it is when the run begins: what changed while an entry waited decides. One run for each. */
  prepare(view: View, entries: readonly ScheduledEntry[]): Promise<readonly JobRun[]>;
  /** How many entries of each concurrency key may be under way now; without it, one after the other. */
  capacity?(view: View, keys: readonly string[]): Promise<readonly number[]>;
  /**
   * Reports in a few words what somebody or something does when it is due: the run is a cause of its own then, after
   * that of the entry. Without it, it continues with what put it into the queue, as the attempts of a delivery do.
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
 * Commits what came of it: in this transaction the entry leaves the queue or moves to a later time. Says the
 * outcome in a word, at once where it waits for nothing.
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
    // One of them spoils it for the others, which must not suffer.
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
