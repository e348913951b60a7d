import type { TestContext } from "node:test";
import type { Collection, Store } from "../../../../emulator/store/port.ts";
import type { WallClock } from "../../../../src/base/clock.ts";

export interface OpenOptions {
  /** Default: the two made-up collections of `test/support/store.ts`. */
  readonly collections?: readonly Collection[];
  readonly wall?: WallClock;
  /** How much is kept of what led to its state; left out: nothing. */
  readonly historyBytes?: number;
}

/** Opens a new empty store, which is closed after the test. */
export type Open = (t: TestContext, options?: OpenOptions) => Promise<Opened>;

export interface Opened {
  readonly store: Store;
  /** Of a store that keeps what it holds; undefined for one that forgets it when it is closed. */
  readonly kept?: Kept;
}

export interface Kept {
  /** Closes it and opens it again, as these collections know it. */
  reopen(collections?: readonly Collection[], options?: Pick<OpenOptions, "historyBytes">): Promise<Opened>;
  /** What a start would find if the process were killed now. */
  afterKill(): Promise<Store>;
}
