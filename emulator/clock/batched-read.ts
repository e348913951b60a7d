import type { Store, View } from "../store/port.ts";

/** Reads for many things what each would read for itself: those that are added while a view is waited for share it. */
export class BatchedRead<Thing, Found> {
  readonly #store: Store;
  readonly #read: (view: View, things: readonly Thing[]) => Promise<Found>;
  readonly #use: (found: Found, things: readonly Thing[]) => void;
  readonly #added: Thing[] = [];
  #reading = false;

  /** `read` is given things in the order in which they were added; `use` gets what it found, outside the view. */
  constructor(
    store: Store,
    read: (view: View, things: readonly Thing[]) => Promise<Found>,
    use: (found: Found, things: readonly Thing[]) => void,
  ) {
    this.#store = store;
    this.#read = read;
    this.#use = use;
  }

  add(thing: Thing): void {
    this.#added.push(thing);
    if (!this.#reading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    while (this.#added.length > 0) {
      let things: readonly Thing[] = [];
      const found = await this.#store.read((view) => {
        things = this.#added.splice(0);
        return this.#read(view, things);
      });
      this.#use(found, things);
    }
    this.#reading = false;
  }
}
