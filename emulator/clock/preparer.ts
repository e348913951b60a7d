import type { Store, View } from "../store/port.ts";
import { byKind, type Kind, type Kinds, type Work } from "./kind.ts";
import type { Entry } from "./schedule.ts";
import { SharedView } from "./shared-view.ts";

/** Reads what the work of entries needs, and hands the work over. */
export class Preparer {
  readonly #kinds: Kinds;
  readonly #entries: SharedView<Entry, readonly Work[]>;

  /** `begin` is called for each entry, in the order in which they were added, outside the view. */
  constructor(store: Store, kinds: Kinds, begin: (entry: Entry, work: Work) => void) {
    this.#kinds = kinds;
    this.#entries = new SharedView(
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

  async #prepareAlike(view: View, name: string, entries: readonly Entry[]): Promise<readonly Work[]> {
    try {
      return await this.#kindOf(name).prepare(view, entries);
    } catch (error) {
      if (entries.length === 1) return [() => Promise.reject(error)];
      // One of them spoils it for the others, which must not suffer.
      return (await Promise.all(entries.map((entry) => this.#prepareAlike(view, name, [entry])))).flat();
    }
  }

  #kindOf(name: string): Kind {
    const kind = this.#kinds[name];
    if (!kind) throw new Error(`Nothing is registered for schedule entries of kind ${name}`);
    return kind;
  }
}
