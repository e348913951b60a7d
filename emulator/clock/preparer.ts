import type { Store, View } from "../store/port.ts";
import { BatchedRead } from "./batched-read.ts";
import { byKind, type JobHandler, type JobHandlers, type Run } from "./job-handler.ts";
import type { Entry } from "./schedule.ts";

/** Prepares the runs of entries, and hands them over. */
export class Preparer {
  readonly #handlers: JobHandlers;
  readonly #entries: BatchedRead<Entry, readonly Run[]>;

  /** `begin` is called for each entry, in the order in which they were added, outside the view. */
  constructor(store: Store, handlers: JobHandlers, begin: (entry: Entry, run: Run) => void) {
    this.#handlers = handlers;
    this.#entries = new BatchedRead(
      store,
      (view, entries) => byKind(entries, (kind, alike) => this.#prepareAlike(view, kind, alike)),
      (runs, entries) => {
        for (const [i, entry] of entries.entries()) begin(entry, runs[i]!);
      },
    );
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  async #prepareAlike(view: View, kind: string, entries: readonly Entry[]): Promise<readonly Run[]> {
    try {
      return await this.#handlerOf(kind).prepare(view, entries);
    } catch (error) {
      if (entries.length === 1) return [() => Promise.reject(error)];
      // One of them spoils it for the others, which must not suffer.
      return (await Promise.all(entries.map((entry) => this.#prepareAlike(view, kind, [entry])))).flat();
    }
  }

  #handlerOf(kind: string): JobHandler {
    const handler = this.#handlers[kind];
    if (!handler) throw new Error(`Nothing is registered for schedule entries of kind ${kind}`);
    return handler;
  }
}
