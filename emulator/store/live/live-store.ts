import type { WallClock } from "../../../src/base/clock.ts";
import { EmulatorBugError } from "../../../src/base/errors.ts";
import { DeadlineList } from "../../../src/base/timing.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { readChecksummed } from "../journal/checksummed-document.ts";
import { createDocument, parseState } from "../journal/document.ts";
import {
  type AnyRows,
  type Cause,
  type ConsistentContents,
  type DocumentHead,
  type History,
  type LoadedState,
  type Moment,
  type ReplacementHooks,
  StateReplacedError,
  type Store,
  type StoreChange,
  StoreChangedError,
  StoreFailedError,
  type Transaction,
  type View,
} from "../port.ts";
import { LiveTransaction, LiveView } from "./live-transaction.ts";
import { ReadWriteLock } from "./read-write-lock.ts";
import { type Change, State } from "./state.ts";

/**
 * A transaction that is open for longer than this wall-clock time is rolled back, because only one can be open
 * (DECISIONS.md, E5).
 */
const transactionLimitMs = 2_000;
const limitText = `${transactionLimitMs / 1_000} s`;

/**
 * The delays before a store tries to write again, in wall-clock milliseconds. Each delay is twice the previous delay,
 * up to the last.
 */
const writeRetryBackoffMs = { first: 500, last: 8_000 } as const;

export interface LogHost {
  /** Runs work on the state while no transaction is open. */
  inspect<T>(work: (state: State) => T): Promise<T>;
  /** Called when writing fails, before the callers whose changes are lost. */
  onFailure(): void;
}

/** Makes committed changes durable. */
export interface CommitLog {
  /** Called once, before anything is appended. */
  attach(host: LogHost): void;
  /**
   * Appends changes in the order of their commits, with the ID of their cause if there is one. Resolves when they and
   * all earlier changes are durable.
   */
  append(changes: readonly Change[], cause: string | undefined): Promise<void>;
  /** Resolves when all appended changes are durable. */
  waitUntilFlushed(): Promise<void>;
  /**
   * Durably replaces the complete state. Called while nothing else is running. `past` is the line after which the new
   * state existed. `moment` is its time, if that is not the present time.
   */
  replace(state: State, past: LogPosition | undefined, moment?: Moment): Promise<void>;
  /** The history of the present state. Undefined if no history is stored. */
  readonly history?: History | undefined;
  /** The reason why writes are impossible. Undefined while they succeed. */
  readonly failure: StoreFailedError | undefined;
  /** Tries to resume writing after a failure. `state` lacks the lost changes and does not change meanwhile. */
  retryWrite(state: State): Promise<boolean>;
  /** Checks whether the files still exist and fails if they do not. Undefined if the log has no files. */
  readonly check?: () => Promise<void>;
  close(): Promise<void>;
}

interface Watcher {
  readonly collections: ReadonlySet<string>;
  readonly listener: (change: StoreChange) => void;
}

/**
 * The store in memory: rows, mappings, and transactions with undo. Its log makes them durable. If the log fails,
 * transactions that are not durable are rolled back, and writing is retried.
 */
export class LiveStore implements Store {
  #state: State;
  readonly #log: CommitLog | undefined;
  /** Transactions that are committed in memory and not yet durable, oldest first. */
  readonly #pendingTransactions: LiveTransaction[] = [];
  #rollback: Promise<void> | undefined;
  #retry: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #lock = new ReadWriteLock();
  readonly #wall: WallClock;
  /** Ends of transactions that stay open too long, and of waits for a read. */
  readonly #deadlines: DeadlineList<() => void>;
  /** Removes the deadline of the writers that wait for a read. Undefined if there is none. */
  #removeWaitDeadline: (() => void) | undefined;
  /** Incremented whenever another state replaces this one. */
  #epoch = 0;
  /**
   * The view of the function that is being called, until its first await. An AsyncLocalStorage would cover more, but it
   * slows every await.
   */
  #activeView: LiveView | undefined;
  readonly #watchers = new Set<Watcher>();
  readonly check: (() => Promise<void>) | undefined;
  #closePromise: Promise<void> | undefined;

  constructor({ state, wall, log }: { readonly state: State; readonly wall: WallClock; readonly log?: CommitLog }) {
    this.#state = state;
    this.#wall = wall;
    this.#deadlines = new DeadlineList(wall, transactionLimitMs, (expire) => expire());
    this.#log = log;
    this.check = log?.check?.bind(log);
    log?.attach({
      inspect: (work) => this.#inspect(work),
      onFailure: () => {
        this.#rollback = this.#rollBackPending();
        this.#retry = this.#retryUntilWritable(log);
      },
    });
  }

  get writable(): boolean {
    return this.#log?.failure === undefined;
  }

  get history(): History | undefined {
    return this.#log?.history;
  }

  async read<T>(work: (view: View) => Promise<T> | T): Promise<T> {
    // Inside a transaction, waiting for the lock would be a deadlock.
    if (this.#activeView instanceof LiveTransaction) return work(this.#activeView);
    if (!this.#lock.tryAcquireShared()) await this.#lock.acquireShared();
    const view = new LiveView(this.#state);
    try {
      return await this.#call(view, work);
    } finally {
      view.end();
      this.#lock.releaseShared();
    }
  }

  async transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T, cause?: Cause | null): Promise<T> {
    const epoch = this.#epoch;
    const acquisition = this.#acquireExclusive(name);
    if (acquisition) await acquisition;
    if (epoch !== this.#epoch || cause?.isStateReplaced?.()) {
      this.#lock.releaseExclusive();
      throw new StateReplacedError(`${name} was waiting while its state was replaced`);
    }
    const tx = new LiveTransaction(name, this.#state, cause ?? undefined);
    let durability: Promise<void> | undefined;
    let result: T;
    try {
      const pendingResult = this.#runLimited(tx, work);
      result = pendingResult instanceof Promise ? await pendingResult : pendingResult;
      tx.recordCause();
      tx.end();
      durability = this.#append(tx);
    } catch (cause) {
      tx.end();
      tx.rollBack();
      throw cause;
    } finally {
      this.#lock.releaseExclusive();
    }
    if (durability) await durability;
    for (const { collections, listener } of this.#watchers) {
      const changes = tx.listRowChanges(collections);
      if (changes.length > 0) listener(changes);
    }
    return result;
  }

  async waitUntilDurable(): Promise<void> {
    if (this.#closePromise) throw new StoreFailedError("The store is closed");
    if (this.#log) await this.#confirm(this.#log.waitUntilFlushed());
  }

  watch(collections: readonly AnyRows[], listener: (change: StoreChange) => void): () => void {
    const watcher = { collections: new Set(collections.map(({ name }) => name)), listener };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  async *export(head?: () => DocumentHead): AsyncGenerator<string, void> {
    const [contents, members] = await this.read(() => [this.#state.takeSnapshot(), head?.()] as const);
    yield* createDocument(contents, members);
  }

  readContents(): Promise<ConsistentContents> {
    return this.read(() => this.#state.takeSnapshot());
  }

  createEmptyStore(): LiveStore {
    return new LiveStore({ state: new State(this.#state.collections), wall: this.#wall });
  }

  async load(document: AsyncIterable<Buffer>): Promise<LoadedState> {
    const { head, state } = await readChecksummed(document, this.#state.collections);
    return { head, store: new LiveStore({ state, wall: this.#wall }) };
  }

  parseDocument(document: unknown): LiveStore {
    return new LiveStore({ state: parseState(document, this.#state.collections), wall: this.#wall });
  }

  async replaceWith(
    next: Store,
    { saveReplaced, head, onReplaced, past, moment }: ReplacementHooks = {},
  ): Promise<void> {
    if (!(next instanceof LiveStore))
      throw new EmulatorBugError("A store can be replaced only by a store of the same kind");
    await this.#acquireExclusive("state.replace");
    try {
      await saveReplaced?.(createDocument(this.#state.takeSnapshot(), head?.()));
      await this.#log?.replace(next.#state, past, moment);
      this.#state = next.#state;
      this.#epoch += 1;
      onReplaced?.();
    } finally {
      this.#lock.releaseExclusive();
    }
    this.#notifyAll("replaced");
  }

  close(): Promise<void> {
    this.#closePromise ??= this.#close();
    return this.#closePromise;
  }

  async #close(): Promise<void> {
    // This waits for earlier callers. #acquireExclusive rejects new callers.
    await this.#lock.acquireExclusive();
    this.#lock.releaseExclusive();
    this.#deadlines.stop();
    this.#closing.abort();
    await this.#rollback;
    await this.#retry;
    await this.#log?.close();
  }

  async #inspect<T>(work: (state: State) => T): Promise<T> {
    await this.#lock.acquireShared();
    try {
      return work(this.#state);
    } finally {
      this.#lock.releaseShared();
    }
  }

  /** Resolves when the transaction is durable. Rejects when it is rolled back. */
  #append(tx: LiveTransaction): Promise<void> | undefined {
    const { changes } = tx;
    // Data that the transaction has read may not be durable yet.
    if (changes.length === 0) return this.#log && this.#confirm(this.#log.waitUntilFlushed());
    const durability = this.#log?.append(changes, tx.cause?.id);
    if (durability === undefined) return undefined;
    this.#pendingTransactions.push(tx);
    return this.#confirm(durability, tx);
  }

  async #confirm(durability: Promise<void>, tx?: LiveTransaction): Promise<void> {
    try {
      await durability;
    } catch (cause) {
      await this.#rollback;
      throw cause;
    }
    // All earlier transactions are durable too.
    if (tx) this.#pendingTransactions.splice(0, this.#pendingTransactions.indexOf(tx) + 1);
  }

  async #rollBackPending(): Promise<void> {
    await this.#lock.acquireExclusive();
    for (const tx of this.#pendingTransactions.splice(0).reverse()) tx.rollBack();
    this.#lock.releaseExclusive();
  }

  async #retryUntilWritable(log: CommitLog): Promise<void> {
    await this.#rollback;
    const { first, last } = writeRetryBackoffMs;
    for (let delay: number = first; ; delay = Math.min(2 * delay, last)) {
      // The first retry also happens while the store is closing, because its data may be stored nowhere else.
      if (await log.retryWrite(this.#state)) return this.#notifyAll("writable");
      if (this.#closing.signal.aborted) return;
      await this.#wall.sleep(delay, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
    }
  }

  #requireWritable(): void {
    const failure = this.#log?.failure;
    if (failure instanceof StoreChangedError) throw failure;
    if (failure) throw new StoreFailedError(failure.message, { cause: failure.cause });
  }

  /** Returns undefined if the lock was acquired at once, which saves a promise on every write, as in #runLimited. */
  #acquireExclusive(name: string): Promise<void> | undefined {
    if (this.#activeView) {
      const opener =
        this.#activeView instanceof LiveTransaction ? `transaction ${this.#activeView.operation}` : "a read";
      throw new EmulatorBugError(`Transaction ${name} was started inside ${opener}, and would wait for it`, {
        operation: name,
      });
    }
    if (this.#closePromise) throw new StoreFailedError(`The store is closed; ${name} changed nothing`);
    this.#requireWritable();
    return this.#lock.tryAcquireExclusive() ? undefined : this.#waitForLock(name);
  }

  async #waitForLock(name: string): Promise<void> {
    // Readers release the lock at once, unless a reader waits for this transaction.
    if (this.#lock.isShared) this.#removeWaitDeadline ??= this.#deadlines.add(() => this.#lock.cancelWaiting());
    const isAdmitted = await this.#lock.acquireExclusive(false);
    this.#removeWaitDeadline?.();
    this.#removeWaitDeadline = undefined;
    if (!isAdmitted) {
      throw new EmulatorBugError(
        `Transaction ${name} waited ${limitText} for a read to end. It may have been started inside the read`,
        { operation: name },
      );
    }
    try {
      this.#requireWritable();
    } catch (error) {
      this.#lock.releaseExclusive();
      throw error;
    }
  }

  /** Runs the work within the limit. Synchronous work cannot exceed it. */
  #runLimited<T>(tx: LiveTransaction, work: (tx: Transaction) => Promise<T> | T): Promise<T> | T {
    const pendingResult = this.#call(tx, work);
    if (!(pendingResult instanceof Promise)) return pendingResult;
    return new Promise<T>((resolve, reject) => {
      const remove = this.#deadlines.add(() => {
        const message = `Transaction ${tx.operation} was open for more than ${limitText} and was rolled back`;
        reject(new EmulatorBugError(message, { operation: tx.operation }));
      });
      pendingResult.finally(remove).then(resolve, reject);
    });
  }

  #call<V extends LiveView, T>(view: V, work: (view: V) => T): T {
    const outerView = this.#activeView;
    this.#activeView = view;
    try {
      return work(view);
    } finally {
      this.#activeView = outerView;
    }
  }

  #notifyAll(change: "replaced" | "writable"): void {
    for (const { listener } of this.#watchers) listener(change);
  }
}
