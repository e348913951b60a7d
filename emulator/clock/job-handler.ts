import type { Transaction, View } from "../store/port.ts";
import type { ScheduledEntry } from "./schedule.ts";

/** Runs the entries of one kind: reads the state, does the work outside the state, and commits the outcome. */
export interface JobHandler {
  /**
   * Starts the run of an entry. It reads the current state, so changes since the entry was scheduled count. The view
   * ends when this function returns, so it is read synchronously. Rejects when the signal aborts because the emulator
   * closes. The work is then repeated after the next start.
   */
  start(view: View, entry: ScheduledEntry, signal: AbortSignal): Promise<JobCommit> | JobCommit;
  /** Returns how many entries of a concurrency key may run now (without this method: one). */
  readCapacity?(view: View, key: string): number;
  /**
   * A short description of what a due entry does. With it, the run is a cause of its own after the cause of its entry.
   * Without it, the run has the cause of its entry, as the attempts of a delivery do.
   */
  readonly action?: string;
}
export type JobHandlers = Readonly<Record<string, JobHandler>>;

/**
 * Commits the outcome. In the same transaction the entry leaves the queue or moves to a later time. Returns the outcome
 * as one word.
 */
export type JobCommit = (tx: Transaction) => string;
