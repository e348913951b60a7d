import type { WallClock } from "../../../src/base/clock.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { type History, type Moment, StoreChangedError, StoreFailedError } from "../port.ts";
import type { LiveTransaction } from "./live-transaction.ts";
import type { Change, State } from "./state.ts";

/** Makes committed changes durable. */
export interface CommitLog {
  /**
   * Appends changes in the order of their commits, with the id of their cause if there is one. Resolves when they and
   * all before them are durable.
   */
  append(changes: readonly Change[], cause: string | undefined): Promise<void>;
  /** Resolves when everything that was appended so far is durable. */
  waitUntilFlushed(): Promise<void>;
  /**
   * Durably replaces the whole state. Called while nothing else is running. `past` is the line after which the new
   * state existed; `moment` is its time, if that is not now.
   */
  replace(state: State, past: LogPosition | undefined, moment?: Moment): Promise<void>;
  /** History of the present state. Undefined if none is stored. */
  readonly history?: History | undefined;
  /** Why writes are impossible. Undefined while they work. */
  readonly failure: StoreFailedError | undefined;
  /** Sets the listener for failures. It is called before the callers whose changes are lost. */
  onFailure(failed: () => void): void;
  /** Tries to resume writing after a failure. `state` lacks the lost changes and does not change meanwhile. */
  retryWrite(state: State): Promise<boolean>;
  /** Checks whether the files still exist and fails if they do not. Undefined if the log has no files. */
  readonly check?: () => Promise<void>;
  close(): Promise<void>;
}

/**
 * The delays before a store tries to write again, in wall-clock milliseconds. Each is twice the previous one, up to the
 * last.
 */
export const writeRetryBackoffMs = { first: 500, last: 8_000 } as const;

interface CommitsOptions {
  readonly log: CommitLog;
  readonly wall: WallClock;
  /** The current state. */
  readonly state: () => State;
  /** Runs work while no transaction and no read is open. */
  readonly runExclusive: (work: () => void) => Promise<void>;
  /** Called when writing works again. */
  readonly onRecovery: () => void;
}

/** Transactions that are being written to the disk. If a write fails, they are rolled back, and writes are retried. */
export class Commits {
  readonly #log: CommitLog;
  readonly #wall: WallClock;
  /** Committed in memory and not yet durable, oldest first. */
  readonly #unsure: LiveTransaction[] = [];
  #takenBack: Promise<void> | undefined;
  #mending: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor({ log, wall, state, runExclusive, onRecovery }: CommitsOptions) {
    this.#log = log;
    this.#wall = wall;
    log.onFailure(() => {
      this.#takenBack = runExclusive(() => this.#rollBackAll());
      this.#mending = this.#retryUntilWritable(this.#takenBack, state, onRecovery);
    });
  }

  /** @throws {StoreFailedError} while writes are impossible. */
  requireWritable(): void {
    const { failure } = this.#log;
    if (failure instanceof StoreChangedError) throw failure;
    if (failure) throw new StoreFailedError(failure.message, { cause: failure.cause });
  }

  get writable(): boolean {
    return this.#log.failure === undefined;
  }

  /** Resolves when the transaction is durable. Rejects when it is rolled back. */
  add(tx: LiveTransaction): Promise<void> {
    const { changes } = tx;
    // Data that it has read may not be durable yet.
    if (changes.length === 0) return this.flushed();
    this.#unsure.push(tx);
    return this.#confirm(tx, this.#log.append(changes, tx.cause?.id));
  }

  /** Resolves when everything that was added is durable. Rejects when it is rolled back. */
  async flushed(): Promise<void> {
    try {
      await this.#log.waitUntilFlushed();
    } catch (cause) {
      await this.#takenBack;
      throw cause;
    }
  }

  /** Durably replaces the whole state. Called while no transaction is open. */
  replace(state: State, past: LogPosition | undefined, moment?: Moment): Promise<void> {
    return this.#log.replace(state, past, moment);
  }

  get check(): (() => Promise<void>) | undefined {
    const { check } = this.#log;
    return check && (() => check.call(this.#log));
  }

  get history(): History | undefined {
    return this.#log.history;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#takenBack;
    await this.#mending;
    await this.#log.close();
  }

  async #confirm(tx: LiveTransaction, durable: Promise<void>): Promise<void> {
    try {
      await durable;
    } catch (cause) {
      await this.#takenBack;
      throw cause;
    }
    // All transactions before it are durable too.
    this.#unsure.splice(0, this.#unsure.indexOf(tx) + 1);
  }

  #rollBackAll(): void {
    for (const tx of this.#unsure.splice(0).reverse()) tx.rollBack();
  }

  async #retryUntilWritable(takenBack: Promise<void>, state: () => State, mended: () => void): Promise<void> {
    await takenBack;
    const { first, last } = writeRetryBackoffMs;
    for (let delay: number = first; ; delay = Math.min(2 * delay, last)) {
      // Also while the store is closing, because its data may be stored nowhere else.
      if (await this.#log.retryWrite(state())) return mended();
      if (this.#closing.signal.aborted) return;
      await this.#wall.sleep(delay, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
    }
  }
}

/**
 * Ends work that stays open too long. It uses one pending sleep instead of a timer per transaction, which would slow
 * every write. The sleep may outlive its transaction, and no process waits for it.
 */
export class Watchdog {
  readonly #wall: WallClock;
  readonly #limitMs: number;
  readonly #stop = new AbortController();
  #current: { readonly since: number; readonly expire: () => void } | undefined;
  #sleeping = false;

  constructor(wall: WallClock, limitMs: number) {
    this.#wall = wall;
    this.#limitMs = limitMs;
  }

  /** Calls `expire` once if `release` is not called within the limit. */
  guard(expire: () => void): void {
    this.#current = { since: this.#wall.monotonicNow(), expire };
    if (!this.#sleeping) void this.#watch();
  }

  /** Like `guard`, but existing guards stay. */
  guardUnlessGuarded(expire: () => void): void {
    if (this.#current === undefined) this.guard(expire);
  }

  release(): void {
    this.#current = undefined;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #watch(): Promise<void> {
    this.#sleeping = true;
    let left = this.#limitMs;
    while (left > 0) {
      await this.#wall.sleep(left, this.#stop.signal, { inBackground: true });
      if (this.#stop.signal.aborted || this.#current === undefined) break;
      left = this.#current.since + this.#limitMs - this.#wall.monotonicNow();
    }
    this.#sleeping = false;
    if (left > 0) return;
    this.#current?.expire();
    this.#current = undefined;
  }
}
