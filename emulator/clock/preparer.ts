import type { Store, View } from "../store/store.ts";
import { byKind, type Kind, type Kinds, type Work } from "./kind.ts";
import type { Entry } from "./schedule.ts";

/** Reads what the work of entries needs: what is added while a view is waited for shares it. */
export class Preparer {
  readonly #store: Store;
  readonly #kinds: Kinds;
  readonly #begin: (entry: Entry, work: Work) => void;
  readonly #added: Entry[] = [];
  #preparing = false;

  /** `begin` is called for each entry, in the order in which they were added, outside the view. */
  constructor(store: Store, kinds: Kinds, begin: (entry: Entry, work: Work) => void) {
    this.#store = store;
    this.#kinds = kinds;
    this.#begin = begin;
  }

  add(entry: Entry): void {
    this.#added.push(entry);
    if (!this.#preparing) void this.#prepare();
  }

  async #prepare(): Promise<void> {
    this.#preparing = true;
    while (this.#added.length > 0) {
      const { entries, works } = await this.#store.read(async (view) => {
        const entries = this.#added.splice(0);
        const works = await byKind(entries, (kind, alike) => this.#prepareAlike(view, kind, alike));
        return { entries, works };
      });
      for (const [i, entry] of entries.entries()) this.#begin(entry, works[i]!);
    }
    this.#preparing = false;
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
