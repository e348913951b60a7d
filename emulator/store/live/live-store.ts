import { EmulatorBug } from "../../../src/base/bug.ts";
import type { Wall } from "../../../src/base/clock.ts";
import { documentEnd, documentSlices, stateFrom } from "../file/document.ts";
import { type Collection, type Store, StoreFailed, type Transaction, type View } from "../port.ts";
import { contentsNow } from "./contents.ts";
import { Gate } from "./gate.ts";
import { LiveTransaction } from "./live-transaction.ts";
import { LiveView } from "./live-view.ts";
import { type Change, State } from "./state.ts";
import { Watchdog } from "./watchdog.ts";

/** Where committed changes become durable. */
export interface CommitLog {
  /** Takes changes in the order of their commits. Resolves once they, and all before them, are durable. */
  append(changes: readonly Change[]): Promise<void>;
  /** Resolves once everything that was appended until now is durable. */
  flushed(): Promise<void>;
  /** Makes a whole new state durable, in the place of the old one. Called while nothing else is going on. */
  replace(state: State): Promise<void>;
  /** Why nothing can be written; undefined while all is well. */
  readonly failure: StoreFailed | undefined;
  /** Names who is told of a failure at once, before anybody whose changes are lost by it. */
  onFailure(failed: () => void): void;
  /** Tries to write again after a failure. `state` is without what was lost, and nothing changes it meanwhile. */
  mend(state: State): Promise<boolean>;
  close(): Promise<void>;
}

/** A transaction open for longer than this, wall time, is rolled back: one at a time can be open (DECISIONS.md, E5). */
export const transactionLimitMs = 2_000;
const limit = `${transactionLimitMs / 1_000} s`;

/** The text of a piece of an export after which it makes way for others. */
const busyLength = 10_000;

/** How long a store that cannot write waits before it tries again, wall time: twice as long each time, up to the last. */
export const mendingDelaysMs = { first: 500, last: 8_000 } as const;

/** The store in memory: rows, mappings, transactions with undo. What survives a crash is the log's concern. */
export class LiveStore implements Store {
  #state: State;
  readonly #log: CommitLog | undefined;
  readonly #gate = new Gate();
  readonly #watchdog: Watchdog;
  /** Whose work is being called, until its first await: an AsyncLocalStorage, which sees further, slows every await. */
  #calling: LiveView | undefined;
  readonly #watchers = new Map<string, Set<() => void>>();
  /** Committed in memory, not yet durable, oldest first. */
  readonly #unsure: LiveTransaction[] = [];
  #rolledBack: Promise<void> | undefined;
  #mending: Promise<void> | undefined;
  readonly #wall: Wall;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(options: { readonly state: State; readonly wall: Wall; readonly log?: CommitLog }) {
    this.#state = options.state;
    this.#log = options.log;
    this.#log?.onFailure(() => {
      this.#rolledBack = this.#rollBackUnsure();
      this.#mending = this.#mend(this.#rolledBack);
    });
    this.#wall = options.wall;
    this.#watchdog = new Watchdog(options.wall, transactionLimitMs);
  }

  get writable(): boolean {
    return this.#log?.failure === undefined;
  }

  async read<T>(work: (view: View) => Promise<T> | T): Promise<T> {
    // Inside a transaction its own picture is the only one there is: waiting for the gate would be for ever.
    if (this.#calling instanceof LiveTransaction) return work(this.#calling);
    if (!this.#gate.tryEnterShared()) await this.#gate.enterShared();
    const view = new LiveView(this.#state);
    try {
      return await this.#call(view, work);
    } finally {
      view.end();
      this.#gate.leaveShared();
    }
  }

  async transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T): Promise<T> {
    await this.#enterAlone(name);
    const tx = new LiveTransaction(name, this.#state);
    let durable: Promise<void> | undefined;
    let result: T;
    try {
      result = await this.#runLimited(tx, work);
      tx.end();
      if (this.#log) durable = this.#commit(tx, this.#log);
    } catch (cause) {
      tx.end();
      tx.rollBack();
      throw cause;
    } finally {
      this.#gate.leaveAlone();
    }
    if (durable) await this.#confirm(tx, durable);
    this.#tell((collection) => tx.touches(collection));
    return result;
  }

  async durable(): Promise<void> {
    if (this.#closed) throw new StoreFailed("The store is closed");
    try {
      await this.#log?.flushed();
    } catch (cause) {
      await this.#rolledBack;
      throw cause;
    }
  }

  watch(collection: Collection, changed: () => void): () => void {
    let watchers = this.#watchers.get(collection.name);
    if (watchers === undefined) {
      watchers = new Set();
      this.#watchers.set(collection.name, watchers);
    }
    // A wrapper of its own, so that the same function may watch twice and end once.
    const watcher = () => changed();
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }

  async *export(): AsyncGenerator<string, void> {
    const contents = await this.read(() => contentsNow(this.#state));
    try {
      for (const piece of documentSlices(contents)) {
        yield piece;
        // Whoever reads as fast as it can lets others have their turn.
        if (piece.length > busyLength) await new Promise((turn) => setImmediate(turn));
      }
      yield documentEnd;
    } finally {
      contents.end();
    }
  }

  replace(document: unknown): Promise<void> {
    return this.#swap("state.replace", () => stateFrom(document, this.#state.collections));
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

  /** Runs work on the state itself while no transaction is open; for the log's own upkeep. */
  async inspect<T>(work: (state: State) => T): Promise<T> {
    if (!this.#gate.tryEnterShared()) await this.#gate.enterShared();
    try {
      return work(this.#state);
    } finally {
      this.#gate.leaveShared();
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    // Whoever came before is let through; whoever comes from now on is refused by #enterAlone.
    await this.#gate.enterAlone();
    this.#gate.leaveAlone();
    this.#closing.abort();
    await this.#rolledBack;
    await this.#mending;
    this.#watchdog.stop();
    await this.#log?.close();
  }

  async #enterAlone(name: string): Promise<void> {
    if (this.#calling) {
      const within = this.#calling instanceof LiveTransaction ? `transaction ${this.#calling.operation}` : "a read";
      throw new EmulatorBug(`Transaction ${name} was started inside ${within}, which it would wait for`, {
        operation: name,
      });
    }
    if (this.#closed) throw new StoreFailed(`The store is closed; ${name} changed nothing`);
    this.#refuseWhenFailed();
    if (!this.#gate.tryEnterAlone()) await this.#waitToEnter(name);
    try {
      this.#refuseWhenFailed();
    } catch (refused) {
      this.#gate.leaveAlone();
      throw refused;
    }
  }

  async #waitToEnter(name: string): Promise<void> {
    // Readers leave at once, unless one waits for this very transaction.
    if (this.#gate.isShared) this.#watchdog.guardUnlessGuarded(() => this.#gate.sendAway());
    if (await this.#gate.enterAlone(false)) {
      this.#watchdog.release();
      return;
    }
    throw new EmulatorBug(`Transaction ${name} waited ${limit} for a read to end: was it started inside it?`, {
      operation: name,
    });
  }

  #refuseWhenFailed(): void {
    const failure = this.#log?.failure;
    if (failure) throw new StoreFailed(failure.message, { cause: failure.cause });
  }

  async #runLimited<T>(tx: LiveTransaction, work: (tx: Transaction) => Promise<T> | T): Promise<T> {
    const tooLate = new Promise<never>((_, reject) => {
      this.#watchdog.guard(() => {
        const message = `Transaction ${tx.operation} was open for more than ${limit} and was rolled back`;
        reject(new EmulatorBug(message, { operation: tx.operation }));
      });
    });
    try {
      return await Promise.race([this.#call(tx, work), tooLate]);
    } finally {
      this.#watchdog.release();
    }
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

  #commit(tx: LiveTransaction, log: CommitLog): Promise<void> {
    const { changes } = tx;
    // What it has read may still be on its way to the disk.
    if (changes.length === 0) return log.flushed();
    this.#unsure.push(tx);
    return log.append(changes);
  }

  /** Waits until the commit is durable; when it never will be, everything that waits is taken back. */
  async #confirm(tx: LiveTransaction, durable: Promise<void>): Promise<void> {
    try {
      await durable;
      // And so are all before it.
      this.#unsure.splice(0, this.#unsure.indexOf(tx) + 1);
    } catch (cause) {
      await this.#rolledBack;
      throw cause;
    }
  }

  async #rollBackUnsure(): Promise<void> {
    await this.#gate.enterAlone();
    for (const tx of this.#unsure.splice(0).reverse()) tx.rollBack();
    this.#gate.leaveAlone();
  }

  async #mend(rolledBack: Promise<void>): Promise<void> {
    await rolledBack;
    const { first, last } = mendingDelaysMs;
    for (let delay: number = first; !this.#closing.signal.aborted; delay = Math.min(2 * delay, last)) {
      if (await this.#log!.mend(this.#state)) return;
      await this.#wall.sleep(delay, this.#closing.signal);
    }
  }

  async #swap(name: string, build: () => Promise<State> | State): Promise<void> {
    await this.#enterAlone(name);
    try {
      const state = await build();
      await this.#log?.replace(state);
      this.#state = state;
    } finally {
      this.#gate.leaveAlone();
    }
    this.#tell(() => true);
  }

  #tell(hasChanged: (collection: string) => boolean): void {
    for (const [collection, watchers] of this.#watchers) {
      if (hasChanged(collection)) for (const changed of watchers) changed();
    }
  }
}
