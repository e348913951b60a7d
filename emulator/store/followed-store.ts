import { NeedsLeader } from "./needs-leader.ts";
import type { AnyRows, Collection, RowChange, Store, View } from "./port.ts";

const refuse = (): never => {
  throw new NeedsLeader();
};

/** A copy of the state that another process writes: it can be read, as long as it is kept up. */
export class FollowedStore implements Store {
  readonly #copy: Store;
  readonly #isKeptUp: () => boolean;
  readonly writable = false;
  readonly transaction = refuse;
  readonly export = refuse;
  readonly contents = refuse;
  readonly beside = refuse;
  readonly load = refuse;
  readonly replace = refuse;
  readonly takeOver = refuse;
  readonly reset = refuse;
  readonly close = refuse;

  constructor(copy: Store, isKeptUp: () => boolean) {
    this.#copy = copy;
    this.#isKeptUp = isKeptUp;
  }

  read<T>(work: (view: View) => Promise<T> | T): Promise<T> {
    return this.#isKeptUp() ? this.#copy.read(work) : Promise.reject(new NeedsLeader());
  }

  async durable(): Promise<void> {}

  watch(collection: Collection, changed: (onlyDeleted: boolean) => void): () => void {
    return this.#copy.watch(collection, changed);
  }

  watchRows(collections: readonly AnyRows[], changed: (changes: readonly RowChange[] | undefined) => void): () => void {
    return this.#copy.watchRows(collections, changed);
  }
}
