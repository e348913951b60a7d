import type { WallClock } from "../../../src/base/clock.ts";
import { createDeferred } from "../../../src/base/concurrency.ts";
import { EmulatorBugError } from "../../../src/base/errors.ts";
import { waitForNextTurn } from "../../../src/base/timing.ts";
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
} from "../port.ts";
import { LiveTransaction, LiveView } from "./live-transaction.ts";
import { type Change, State } from "./state.ts";

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
export class LiveStore extends LiveView implements Store {
  #state: State;
  readonly #log: CommitLog | undefined;
  /** Transactions that are committed in memory and not yet durable, oldest first. */
  readonly #pendingTransactions: LiveTransaction[] = [];
  #retry: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #wall: WallClock;
  /** Settles when the state has been replaced or not. Undefined if it is not being replaced. */
  #replacement: Promise<void> | undefined;
  /** Incremented whenever another state replaces this one. */
  #epoch = 0;
  /** Name of the transaction whose work is being called. */
  #active: string | undefined;
  readonly #watchers = new Set<Watcher>();
  readonly check: (() => Promise<void>) | undefined;
  #closePromise: Promise<void> | undefined;

  constructor({ state, wall, log }: { readonly state: State; readonly wall: WallClock; readonly log?: CommitLog }) {
    super();
    this.#state = state;
    this.#wall = wall;
    this.#log = log;
    this.check = log?.check?.bind(log);
    log?.attach({
      inspect: (work) => this.#inspect(work),
      onFailure: () => {
        for (const tx of this.#pendingTransactions.splice(0).reverse()) tx.rollBack();
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

  get replacement(): Promise<void> | undefined {
    return this.#replacement;
  }

  protected get state(): State {
    return this.#state;
  }

  async transaction<T>(name: string, work: (tx: Transaction) => T, cause?: Cause | null): Promise<T> {
    const epoch = this.#epoch;
    for (let wait = this.#requireUsable(name); wait; wait = this.#requireUsable(name)) await wait;
    if (epoch !== this.#epoch || cause?.isStateReplaced?.())
      throw new StateReplacedError(`${name} was waiting while its state was replaced`);
    const tx = new LiveTransaction(name, this.#state, cause ?? undefined);
    let durability: Promise<void> | undefined;
    let result: T;
    try {
      result = this.#call(name, tx, work);
      tx.recordCause();
      durability = this.#append(tx);
    } catch (cause) {
      tx.rollBack();
      throw cause;
    } finally {
      tx.end();
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
    await this.#log?.waitUntilFlushed();
  }

  watch(collections: readonly AnyRows[], listener: (change: StoreChange) => void): () => void {
    const watcher = { collections: new Set(collections.map(({ name }) => name)), listener };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  async *export(head?: () => DocumentHead): AsyncGenerator<string, void> {
    yield* createDocument(this.#state.takeSnapshot(), head?.());
  }

  readContents(): ConsistentContents {
    return this.#state.takeSnapshot();
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
    for (let wait = this.#requireUsable("state.replace"); wait; wait = this.#requireUsable("state.replace")) await wait;
    const replacement = createDeferred();
    this.#replacement = replacement.promise;
    const newState = (next as LiveStore).#state;
    let outcome: "replaced" | "writable" = "writable";
    try {
      await saveReplaced?.(createDocument(this.#state.takeSnapshot(), head?.()));
      await this.#log?.replace(newState, past, moment);
      this.#state = newState;
      this.#epoch += 1;
      onReplaced?.();
      outcome = "replaced";
    } finally {
      this.#replacement = undefined;
      replacement.resolve();
      this.#notifyAll(outcome);
    }
  }

  close(): Promise<void> {
    this.#closePromise ??= this.#close();
    return this.#closePromise;
  }

  async #close(): Promise<void> {
    while (this.#replacement) await this.#replacement;
    this.#closing.abort();
    await this.#retry;
    await this.#log?.close();
  }

  async #inspect<T>(work: (state: State) => T): Promise<T> {
    while (this.#replacement) await this.#replacement;
    return work(this.#state);
  }

  /** Resolves when the transaction is durable. Rejects when it is rolled back. */
  #append(tx: LiveTransaction): Promise<void> | undefined {
    const { changes } = tx;
    // Data that the transaction has read may not be durable yet.
    if (changes.length === 0) return this.#log?.waitUntilFlushed();
    const durability = this.#log?.append(changes, tx.cause?.id);
    if (durability === undefined) return undefined;
    this.#pendingTransactions.push(tx);
    // All earlier transactions are durable too.
    return durability.then(() => void this.#pendingTransactions.splice(0, this.#pendingTransactions.indexOf(tx) + 1));
  }

  async #retryUntilWritable(log: CommitLog): Promise<void> {
    // The log first rejects the callers whose changes are lost.
    await waitForNextTurn();
    const { first, last } = writeRetryBackoffMs;
    for (let delay: number = first; ; delay = Math.min(2 * delay, last)) {
      // The first retry also happens while the store is closing, because its data may be stored nowhere else.
      if (await this.#inspect((state) => log.retryWrite(state))) return this.#notifyAll("writable");
      if (this.#closing.signal.aborted) return;
      await this.#wall.sleep(delay, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
    }
  }

  /** Returns the end of a replacement that is running. The caller waits for it and calls this function again. */
  #requireUsable(name: string): Promise<void> | undefined {
    if (this.#active !== undefined) {
      throw new EmulatorBugError(`Transaction ${name} was started inside transaction ${this.#active}`, {
        operation: name,
      });
    }
    if (this.#closePromise) throw new StoreFailedError(`The store is closed; ${name} changed nothing`);
    const failure = this.#log?.failure;
    if (failure instanceof StoreChangedError) throw failure;
    if (failure) throw new StoreFailedError(failure.message, { cause: failure.cause });
    return this.#replacement;
  }

  /** Calls the work of a transaction. It must not wait, because others would change the state meanwhile. */
  #call<T>(name: string, tx: Transaction, work: (tx: Transaction) => T): T {
    this.#active = name;
    try {
      const result = work(tx);
      if (!(result instanceof Promise)) return result;
      result.catch(() => {});
      throw new EmulatorBugError(`The work of transaction ${name} is asynchronous`, { operation: name });
    } finally {
      this.#active = undefined;
    }
  }

  #notifyAll(change: "replaced" | "writable"): void {
    for (const { listener } of this.#watchers) listener(change);
  }
}
