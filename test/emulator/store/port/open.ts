import type { TestContext } from "node:test";
import type { Collection, Store } from "../../../../emulator/store/port.ts";

export interface OpenOptions {
  /** Default: the two test collections of `test/support/store.ts`. */
  readonly collections?: readonly Collection[];
  /** Size limit of the history. Without it, no history is stored. */
  readonly historyBytes?: number;
}

/** Opens a new empty store, which is closed after the test. */
export type Open = (t: TestContext, options?: OpenOptions) => Promise<OpenedStore>;

export interface OpenedStore {
  readonly store: Store;
  /** Only for a durable store. Undefined for a store in memory. */
  readonly durable?: DurableStoreControl;
}

export interface DurableStoreControl {
  /** Closes it and opens it again with these collections. */
  reopen(collections?: readonly Collection[], options?: Pick<OpenOptions, "historyBytes">): Promise<OpenedStore>;
  /** The state that a start would find after a kill at this moment. */
  afterKill(): Promise<Store>;
}
