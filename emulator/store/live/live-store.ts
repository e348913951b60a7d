import type { WallClock } from "../../../src/base/clock.ts";
import { EmulatorBugError } from "../../../src/base/errors.ts";
import { nextTurn } from "../../../src/base/timing.ts";
import type { Cause } from "../cause.ts";
import { readChecksummed } from "../file/checksummed-document.ts";
import { createDocumentSlices, documentEnd, parseState } from "../file/document.ts";
import {
  type AnyRows,
  type Collection,
  type ConsistentContents,
  type DocumentHead,
  type History,
  type LoadedState,
  type RowChange,
  StateReplacedError,
  type Store,
  StoreFailedError,
  type TakeoverHooks,
  type Transaction,
  type View,
} from "../port.ts";
import { type CommitLog, Commits, Watchdog } from "./commits.ts";
import { consistentSnapshot } from "./compaction.ts";
import { LiveTransaction, LiveView } from "./live-transaction.ts";
import { ReadWriteLock } from "./read-write-lock.ts";
import { State } from "./state.ts";

/**
 * A transaction that is open for longer than this wall-clock time is rolled back, because only one can be open
 * (DECISIONS.md, E5).
 */
export const transactionLimitMs = 2_000;
const limit = `${transactionLimitMs / 1_000} s`;

/** The number of characters of an export after which other work gets a turn. */
const busyLength = 10_000;

interface RowWatcher {
  readonly collections: ReadonlySet<string>;
  readonly changed: (changes: readonly RowChange[] | undefined) => void;
}

/** The store in memory: rows, mappings, and transactions with undo. Its commits make it durable. */
export class LiveStore implements Store {
  #state: State;
  /** Undefined if the store is not durable. */
  readonly #commits: Commits | undefined;
  readonly #gate = new ReadWriteLock();
  readonly #wall: WallClock;
  readonly #watchdog: Watchdog;
  /** Raised whenever another state replaces this one. */
  #epoch = 0;
  /**
   * The work that is being called, until its first await. An AsyncLocalStorage would cover more, but it slows every
   * await.
   */
  #calling: LiveView | undefined;
  readonly #watchers = new Map<string, Set<(onlyDeleted: boolean) => void>>();
  readonly #rowWatchers = new Set<RowWatcher>();
  #closed: Promise<void> | undefined;

  constructor({ state, wall, log }: { readonly state: State; readonly wall: WallClock; readonly log?: CommitLog }) {
    this.#state = state;
    this.#wall = wall;
    const runExclusive = (work: () => void) => this.runExclusive(work);
    // Rejected and waiting callers check again.
    const onRecovery = () => this.#notifyWatchers();
    this.#commits = log && new Commits({ log, wall, state: () => this.#state, runExclusive, onRecovery });
    this.#watchdog = new Watchdog(wall, transactionLimitMs);
  }

  get writable(): boolean {
    return this.#commits?.writable ?? true;
  }

  get check(): (() => Promise<void>) | undefined {
    return this.#commits?.check;
  }

  get history(): History | undefined {
    return this.#commits?.history;
  }

  async read<T>(work: (view: View) => Promise<T> | T): Promise<T> {
    // Inside a transaction, waiting for the lock would be a deadlock.
    if (this.#calling instanceof LiveTransaction) return work(this.#calling);
    if (!this.#gate.tryAcquireShared()) await this.#gate.acquireShared();
    const view = new LiveView(this.#state);
    try {
      return await this.#call(view, work);
    } finally {
      view.end();
      this.#gate.releaseShared();
    }
  }

  async transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T, cause?: Cause | null): Promise<T> {
    const epoch = this.#epoch;
    const entering = this.#acquireExclusive(name);
    if (entering) await entering;
    if (epoch !== this.#epoch || cause?.isLeft?.()) {
      this.#gate.releaseExclusive();
      throw new StateReplacedError(`${name} was waiting while its state was replaced`);
    }
    const tx = new LiveTransaction(name, this.#state, cause ?? undefined);
    let durable: Promise<void> | undefined;
    let result: T;
    try {
      const working = this.#runLimited(tx, work);
      result = working instanceof Promise ? await working : working;
      tx.recordCause();
      tx.end();
      durable = this.#commits?.add(tx);
    } catch (cause) {
      tx.end();
      tx.rollBack();
      throw cause;
    } finally {
      this.#gate.releaseExclusive();
    }
    if (durable) await durable;
    this.#notifyWatchers(tx);
    for (const { collections, changed } of this.#rowWatchers) {
      const changes = tx.listRowChanges(collections);
      if (changes.length > 0) changed(changes);
    }
    return result;
  }

  async waitUntilDurable(): Promise<void> {
    if (this.#closed) throw new StoreFailedError("The store is closed");
    await this.#commits?.flushed();
  }

  watch(collection: Collection, changed: (onlyDeleted: boolean) => void): () => void {
    let watchers = this.#watchers.get(collection.name);
    if (watchers === undefined) {
      watchers = new Set();
      this.#watchers.set(collection.name, watchers);
    }
    // A new wrapper, so that the same function can watch twice and end once.
    const watcher = (onlyDeleted: boolean) => changed(onlyDeleted);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }

  watchRows(collections: readonly AnyRows[], changed: RowWatcher["changed"]): () => void {
    const watcher = { collections: new Set(collections.map(({ name }) => name)), changed };
    this.#rowWatchers.add(watcher);
    return () => void this.#rowWatchers.delete(watcher);
  }

  async *export(head?: () => DocumentHead): AsyncGenerator<string, void> {
    const [contents, members] = await this.read(() => [consistentSnapshot(this.#state), head?.()] as const);
    yield* createDocument(contents, members);
  }

  readContents(): Promise<ConsistentContents> {
    return this.read(() => consistentSnapshot(this.#state));
  }

  createEmptyStore(): LiveStore {
    return new LiveStore({ state: new State(this.#state.collections), wall: this.#wall });
  }

  async load(document: AsyncIterable<Uint8Array>): Promise<LoadedState> {
    const { head, state } = await readChecksummed(document, this.#state.collections);
    return { head, store: new LiveStore({ state, wall: this.#wall }) };
  }

  replace(document: unknown): Promise<void> {
    return this.#swap("state.replace", () => parseState(document, this.#state.collections));
  }

  takeOver(next: Store, { keep, head, tookOver, ...of }: TakeoverHooks = {}): Promise<void> {
    return this.#swap(
      "state.take-over",
      async () => {
        if (!(next instanceof LiveStore))
          throw new EmulatorBugError("A store can be replaced only by a store of the same kind");
        await keep?.(createDocument(consistentSnapshot(this.#state), head?.()));
        return next.#state;
      },
      { swapped: tookOver, ...of },
    );
  }

  reset(name: string, fill: (tx: Transaction) => Promise<void> | void): Promise<void> {
    return this.#swap(name, async () => {
      const state = new State(this.#state.collections);
      const tx = new LiveTransaction(name, state);
      try {
        await this.#runLimited(tx, fill);
      } finally {
        tx.end();
      }
      return state;
    });
  }

  /** Runs work on the state while no transaction is open, for maintenance of the log. */
  async inspect<T>(work: (state: State) => T): Promise<T> {
    if (!this.#gate.tryAcquireShared()) await this.#gate.acquireShared();
    try {
      return work(this.#state);
    } finally {
      this.#gate.releaseShared();
    }
  }

  /** Runs work on the state while it is neither read nor written, for copies that follow it. */
  async runExclusive(work: () => void): Promise<void> {
    await this.#gate.acquireExclusive();
    try {
      work();
    } finally {
      this.#gate.releaseExclusive();
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    // Waits for earlier callers; #enterAlone rejects new ones.
    await this.#gate.acquireExclusive();
    this.#gate.releaseExclusive();
    this.#watchdog.stop();
    await this.#commits?.close();
  }

  /** Returns undefined if the caller already has the lock, to save a promise on every write, as in #runLimited. */
  #acquireExclusive(name: string): Promise<void> | undefined {
    if (this.#calling) {
      const within = this.#calling instanceof LiveTransaction ? `transaction ${this.#calling.operation}` : "a read";
      throw new EmulatorBugError(`Transaction ${name} was started inside ${within}, and would wait for it`, {
        operation: name,
      });
    }
    if (this.#closed) throw new StoreFailedError(`The store is closed; ${name} changed nothing`);
    this.#commits?.requireWritable();
    return this.#gate.tryAcquireExclusive() ? undefined : this.#waitForLock(name);
  }

  async #waitForLock(name: string): Promise<void> {
    // Readers leave at once, unless one waits for this transaction.
    if (this.#gate.isShared) this.#watchdog.guardUnlessGuarded(() => this.#gate.cancelWaiting());
    if (!(await this.#gate.acquireExclusive(false))) {
      throw new EmulatorBugError(
        `Transaction ${name} waited ${limit} for a read to end. It may have been started inside the read`,
        {
          operation: name,
        },
      );
    }
    this.#watchdog.release();
    try {
      this.#commits?.requireWritable();
    } catch (refused) {
      this.#gate.releaseExclusive();
      throw refused;
    }
  }

  /** Synchronous work cannot exceed the limit. */
  #runLimited<T>(tx: LiveTransaction, work: (tx: Transaction) => Promise<T> | T): Promise<T> | T {
    const working = this.#call(tx, work);
    if (!(working instanceof Promise)) return working;
    return new Promise<T>((resolve, reject) => {
      let isLate = false;
      this.#watchdog.guard(() => {
        isLate = true;
        const message = `Transaction ${tx.operation} was open for more than ${limit} and was rolled back`;
        reject(new EmulatorBugError(message, { operation: tx.operation }));
      });
      const end = (settle: () => void) => {
        // The current watch belongs to another transaction.
        if (isLate) return;
        this.#watchdog.release();
        settle();
      };
      working.then(
        (result) => end(() => resolve(result)),
        (cause) => end(() => reject(cause)),
      );
    });
  }

  #call<V extends LiveView, T>(view: V, work: (view: V) => T): T {
    const outer = this.#calling;
    this.#calling = view;
    try {
      return work(view);
    } finally {
      this.#calling = outer;
    }
  }

  async #swap(
    name: string,
    build: () => Promise<State> | State,
    { swapped, past, moment }: { swapped?: (() => void) | undefined } & Pick<TakeoverHooks, "past" | "moment"> = {},
  ): Promise<void> {
    await this.#acquireExclusive(name);
    try {
      const state = await build();
      await this.#commits?.replace(state, past, moment);
      this.#state = state;
      this.#epoch += 1;
      swapped?.();
    } finally {
      this.#gate.releaseExclusive();
    }
    this.#notifyWatchers();
    for (const { changed } of this.#rowWatchers) changed(undefined);
  }

  /** Without a transaction, everything may have changed. */
  #notifyWatchers(tx?: LiveTransaction): void {
    for (const [collection, watchers] of this.#watchers) {
      if (tx && !tx.touches(collection)) continue;
      const onlyDeleted = tx?.onlyDeletesFrom(collection) ?? false;
      for (const changed of watchers) changed(onlyDeleted);
    }
  }
}

/** Creates the document of contents and ends them with it. */
async function* createDocument(
  contents: ReturnType<typeof consistentSnapshot>,
  head: DocumentHead | undefined,
): AsyncGenerator<string, void> {
  try {
    for (const piece of createDocumentSlices(contents, head)) {
      yield piece;
      // A reader that does not pause must let other work run.
      if (piece.length > busyLength) await nextTurn();
    }
    yield documentEnd;
  } finally {
    contents.end();
  }
}
