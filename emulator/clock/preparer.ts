import type { Store, View } from "../store/port.ts";
import { BatchedRead } from "./batched-read.ts";
import { byKind, type JobHandler, type JobHandlers, type Run } from "./job-handler.ts";
import type { Entry } from "./schedule.ts";

/** Reads what the work of entries needs, and hands the work over. */
export class Preparer {
  readonly #kinds: JobHandlers;
  readonly #entries: BatchedRead<Entry, readonly Run[]>;

  /** `begin` is called for each entry, in the order in which they were added, outside the view. */
  constructor(store: Store, kinds: JobHandlers, begin: (entry: Entry, work: Run) => void) {
    this.#kinds = kinds;
    this.#entries = new BatchedRead(
      store,
      (view, entries) => byKind(entries, (kind, alike) => this.#prepareAlike(view, kind, alike)),
      (works, entries) => {
        for (const [i, entry] of entries.entries()) begin(entry, works[i]!);
      },
    );
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  async #prepareAlike(view: View, name: string, entries: readonly Entry[]): Promise<readonly Run[]> {
    try {
      return await this.#kindOf(name).prepare(view, entries);
    } catch (error) {
      if (entries.length === 1) return [() => Promise.reject(error)];
      // One of them spoils it for the others, which must not suffer.
      return (await Promise.all(entries.map((entry) => this.#prepareAlike(view, name, [entry])))).flat();
    }
  }

  #kindOf(name: string): JobHandler {
    const kind = this.#kinds[name];
    if (!kind) throw new Error(`Nothing is registered for schedule entries of kind ${name}`);
    return kind;
  }
}
