import type { Cause } from "./cause.ts";
import type {
  AnyRows,
  Collection,
  ConsistentContents,
  DocumentHead,
  History,
  LoadedState,
  RowChange,
  Store,
  TakeoverHooks,
  Transaction,
  View,
} from "./port.ts";

/** A store whose transactions all have one cause. */
export class CausedStore implements Store {
  readonly #store: Store;
  readonly #cause: Cause;

  constructor(store: Store, cause: Cause) {
    this.#store = store;
    this.#cause = cause;
  }

  read<T>(work: (view: View) => Promise<T> | T): Promise<T> {
    return this.#store.read(work);
  }

  transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T, cause: Cause | null = this.#cause) {
    return this.#store.transaction(name, work, cause);
  }

  watch(collection: Collection, changed: (onlyDeleted: boolean) => void): () => void {
    return this.#store.watch(collection, changed);
  }

  watchRows(collections: readonly AnyRows[], changed: (changes: readonly RowChange[] | undefined) => void): () => void {
    return this.#store.watchRows(collections, changed);
  }

  export(head?: () => DocumentHead): AsyncIterable<string> {
    return this.#store.export(head);
  }

  contents(): Promise<ConsistentContents> {
    return this.#store.contents();
  }

  beside(): Store {
    return this.#store.beside();
  }

  load(document: AsyncIterable<Uint8Array>): Promise<LoadedState> {
    return this.#store.load(document);
  }

  takeOver(next: Store, moments?: TakeoverHooks): Promise<void> {
    return this.#store.takeOver(next, moments);
  }

  replace(document: unknown): Promise<void> {
    return this.#store.replace(document);
  }

  reset(name: string, fill: (tx: Transaction) => Promise<void> | void): Promise<void> {
    return this.#store.reset(name, fill);
  }

  durable(): Promise<void> {
    return this.#store.durable();
  }

  get history(): History | undefined {
    return this.#store.history;
  }

  get writable(): boolean {
    return this.#store.writable;
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
