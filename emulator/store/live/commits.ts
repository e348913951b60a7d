import type { WallClock } from "../../../src/base/clock.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { type History, type Moment, StoreChangedError, StoreFailedError } from "../port.ts";
import type { LiveTransaction } from "./live-transaction.ts";
import type { Change, State } from "./state.ts";

/** Makes committed changes durable. */
export interface CommitLog {
  /**
   * Takes changes in the order of their commits, and the id of their cause, if they have one. Resolves once they, and
   * all before them, are durable.
   */
  append(changes: readonly Change[], cause: string | undefined): Promise<void>;
  /** Resolves once everything that was appended until now is durable. */
  flushed(): Promise<void>;
  /**
   * Makes a whole new state durable, instead of the old one. Called while nothing else is continuing. `past`: after
   * which of its lines the new state was; `moment`: when, if that is not now.
   */
  replace(state: State, past: LogPosition | undefined, moment?: Moment): Promise<void>;
  /** History of the present state; undefined if none is stored. */
  readonly history?: History | undefined;
  /** Why nothing can be written; undefined while all is well. */
  readonly failure: StoreFailedError | undefined;
  /** Sets the listener that is notified of a failure at once, before the callers whose changes are lost. */
  onFailure(failed: () => void): void;
  /** Tries to write again after a failure. `state` is without what was lost, and nothing changes it meanwhile. */
  retryWrite(state: State): Promise<boolean>;
  /** Looks whether its files are still there, and fails where they are not; undefined if it has none. */
  readonly check?: () => Promise<void>;
  close(): Promise<void>;
}

/**
 * How long a store that cannot write waits before it tries again, wall-clock time: twice as long each time, up to the
 * last.
 */
export const writeRetryBackoffMs = { first: 500, last: 8_000 } as const;

interface Options {
  readonly log: CommitLog;
  readonly wall: WallClock;
  /** The state as it is then. */
  readonly state: () => State;
  /** Runs work while no transaction and no read is open. */
  readonly alone: (work: () => void) => Promise<void>;
  /** Called when writing works again. */
  readonly mended: () => void;
}

/** Transactions on their way to the disk. When it fails, those are taken back, and it is tried until it writes again. */
export class Commits {
  readonly #log: CommitLog;
  readonly #wall: WallClock;
  /** Committed in memory, not yet durable, oldest first. */
  readonly #unsure: LiveTransaction[] = [];
  #takenBack: Promise<void> | undefined;
  #mending: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor({ log, wall, state, alone, mended }: Options) {
    this.#log = log;
    this.#wall = wall;
    log.onFailure(() => {
      this.#takenBack = alone(() => this.#rollBackAll());
      this.#mending = this.#retryUntilWritable(this.#takenBack, state, mended);
    });
  }

  /** @throws {StoreFailedError} while nothing can be written. */
  requireWritable(): void {
    const { failure } = this.#log;
    if (failure instanceof StoreChangedError) throw failure;
    if (failure) throw new StoreFailedError(failure.message, { cause: failure.cause });
  }

  get writable(): boolean {
    return this.#log.failure === undefined;
  }

  /** Resolves once the transaction is durable; rejects once it, and all that waits, is taken back. */
  add(tx: LiveTransaction): Promise<void> {
    const { changes } = tx;
    // Data that it has read may still be on its way to the disk.
    if (changes.length === 0) return this.flushed();
    this.#unsure.push(tx);
    return this.#confirm(tx, this.#log.append(changes, tx.cause?.id));
  }

  /** Resolves once all that was added is durable; rejects once it is taken back. */
  async flushed(): Promise<void> {
    try {
      await this.#log.flushed();
    } catch (cause) {
      await this.#takenBack;
      throw cause;
    }
  }

  /** Makes a whole new state durable. Called while no transaction is open. */
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
    // And so are all before it.
    this.#unsure.splice(0, this.#unsure.indexOf(tx) + 1);
  }

  #rollBackAll(): void {
    for (const tx of this.#unsure.splice(0).reverse()) tx.rollBack();
  }

  async #retryUntilWritable(takenBack: Promise<void>, state: () => State, mended: () => void): Promise<void> {
    await takenBack;
    const { first, last } = writeRetryBackoffMs;
    for (let delay: number = first; ; delay = Math.min(2 * delay, last)) {
      // Also if it has begun to close meanwhile: its data may be stored nowhere else.
      if (await this.#log.retryWrite(state())) return mended();
      if (this.#closing.signal.aborted) return;
      await this.#wall.sleep(delay, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
    }
  }
}

/**
 * Ends what stays open too long, with one pending sleep at a time instead of a timer per transaction, which would be
 * felt on every write. The sleep outlives what it was begun for, and a store that stood next to may be let go unclosed:
 * no process is to wait for that.
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

  /** Calls `expire` once, when `release` does not come within the limit. */
  guard(expire: () => void): void {
    this.#current = { since: this.#wall.monotonicNow(), expire };
    if (!this.#sleeping) void this.#watch();
  }

  /** The same, but existing guards stay. */
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
