import { setMaxListeners } from "node:events";
import { runOnNextTurn } from "../../src/base/timing.ts";
import type { CauseRowFactory } from "../store/causes.ts";
import { FileWriteError, type Store, StoreFailedError, type Transaction } from "../store/port.ts";
import type { JobCommit, JobHandlers } from "./job-handler.ts";
import { Rotation } from "./rotation.ts";
import { createRunCause, type ScheduledEntry, schedule } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly handlers: JobHandlers;
  /** The maximum number of entries that run at the same time (see `Rotation`). With one, they run in order. */
  readonly maxConcurrent: number;
  readonly createCauseRow: CauseRowFactory;
  /**
   * Called when the run of an entry throws. The entry stays in the queue and is not run again before the next start.
   */
  readonly onError: (entry: ScheduledEntry, error: unknown) => void;
}

interface Run {
  readonly entry: ScheduledEntry;
  readonly at: number;
  readonly commit: JobCommit;
}

/** The number of entries per slot that may be started before they are durable. After a crash they run again. */
const maxUncommittedPerSlot = 4;

/**
 * Runs entries that are due at the present virtual time, in one loop: it commits the outcomes of finished runs in one
 * transaction, which removes the entries from the queue, and starts the next entries. Entries run outside the state. It
 * does not advance the clock.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #rotation: Rotation;
  /** Due entries without a durable outcome, waiting or started. */
  readonly #dueEntries = new Set<ScheduledEntry>();
  readonly #failedIds = new Set<number>();
  readonly #finishedRuns: Run[] = [];
  readonly #outcomeWaiters = new Map<number, (outcome: string) => void>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #stop = new AbortController();
  /** Aborted once no more entries are started. */
  readonly stopSignal = this.#stop.signal;
  readonly #unwatch: () => void;
  /** Entries that are due until this time were listed, or the store will report them. */
  #listedUntil = Number.NEGATIVE_INFINITY;
  /** Entries that were started and whose outcomes are not durable. */
  #uncommittedCount = 0;
  #isWoken = false;
  #startsNoMore = false;
  #lastStep = Promise.resolve();
  /** Called with each entry whose outcome is durable, and the virtual time of its run. */
  onFinished: ((entry: ScheduledEntry, at: number, outcome: string) => void) | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#rotation = new Rotation(options.maxConcurrent);
    this.#unwatch = options.store.watch([schedule], (changes) => {
      // The store was restored to its durable state, so entries that were dropped may be due again.
      if (typeof changes === "string") this.#listedUntil = Number.NEGATIVE_INFINITY;
      else for (const { after } of changes) if (after) this.#addIfDue(after as ScheduledEntry);
      this.wake();
    });
    // Every running entry may add a listener.
    setMaxListeners(0, this.stopSignal);
  }

  /** Continues the loop after a change of the queue, of the time or of a run, once per turn of the event loop. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    runOnNextTurn(() => {
      this.#lastStep = this.#lastStep.then(() => this.#step());
    });
  }

  /** From now on, due entries wait for the next start, and nothing waits for them. Running ones continue. */
  startNoMore(): void {
    this.#startsNoMore = true;
    const runningIds = new Set([...this.#rotation.running].map(({ id }) => id));
    for (const [id, resolve] of this.#outcomeWaiters) if (!runningIds.has(id)) resolve("closing");
  }

  waitUntilIdle(): Promise<void> {
    this.wake();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /**
   * Resolves with the outcome of the next run of an entry: `closing` if the emulator closes first, `dropped` if the
   * state is replaced. Call it in the transaction that adds the entry, so that the entry cannot have run before.
   */
  waitForOutcome(id: number): Promise<string> {
    if (this.#startsNoMore) return Promise.resolve("closing");
    return new Promise((resolve) => this.#outcomeWaiters.set(id, resolve));
  }

  /**
   * Runs due entries of a cause and of these kinds before all other entries. Resolves when their outcomes are durable.
   */
  async prioritize(cause: string, matchesKind: (kind: string) => boolean): Promise<void> {
    const { store } = this.#options;
    const entries = store.list(schedule, { by: "cause", equals: cause });
    const outcomes = entries
      .filter((entry) => matchesKind(entry.kind) && this.#mayRun(entry))
      .map((entry) => {
        const outcome = this.waitForOutcome(entry.id);
        this.#addIfDue(entry);
        if (this.#mayStart() && this.#rotation.start(entry)) void this.#run(entry);
        return outcome;
      });
    await Promise.all(outcomes);
  }

  /** Starts no more entries, aborts running ones without committing them, and resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.waitUntilIdle();
    this.#end("closing");
  }

  /** Stops at once because the state is replaced: no outcome is committed from now on. Returns the running entries. */
  abandon(): readonly ScheduledEntry[] {
    this.#stop.abort();
    this.#end("dropped");
    return [...this.#rotation.running];
  }

  #end(outcome: string): void {
    this.#unwatch();
    for (const resolve of this.#outcomeWaiters.values()) resolve(outcome);
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #mayRun({ id, due }: ScheduledEntry): boolean {
    return due <= this.#options.clock.now() && !this.#failedIds.has(id) && !this.stopSignal.aborted;
  }

  #mayStart(): boolean {
    return !this.#startsNoMore && !this.#options.store.replacement;
  }

  #addIfDue(entry: ScheduledEntry): void {
    if (this.#dueEntries.has(entry) || !this.#mayRun(entry)) return;
    this.#dueEntries.add(entry);
    this.#rotation.add(entry);
  }

  /** One round of the loop: commit, take, run. */
  async #step(): Promise<void> {
    this.#isWoken = false;
    if (this.#finishedRuns.length > 0) void this.#commit(this.#finishedRuns.splice(0));
    try {
      await this.#listDue();
      this.#startEntries();
    } catch {
      // The disk fails, or the store is closed. The store notifies this dispatcher when it can be written again.
    }
    const isIdle =
      this.#uncommittedCount === 0 && (this.#dueEntries.size === 0 || this.#startsNoMore || this.stopSignal.aborted);
    if (isIdle && !this.#isWoken) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  async #listDue(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    if (now <= this.#listedUntil) return;
    const entries = store.list(schedule, { by: "due", from: this.#listedUntil + 1, to: now });
    for (const entry of entries) this.#addIfDue(entry);
    // An entry starts only when the entry and its time are durable, because a crash cannot undo a request.
    await Promise.all([store.waitUntilDurable(), clock.waitUntilDurable()]);
    this.#listedUntil = now;
  }

  /** Starts as many entries as possible. Nothing is started while nothing can be committed. */
  #startEntries(): void {
    const { store, handlers, maxConcurrent } = this.#options;
    // With one entry at a time, the outcome is durable and known before the next entry starts.
    const maxUncommitted = maxConcurrent === 1 ? 1 : maxConcurrent * maxUncommittedPerSlot;
    const readCapacity = ({ kind, concurrency_key }: ScheduledEntry) => {
      try {
        return handlers[kind]?.readCapacity?.(store, concurrency_key) ?? 1;
      } catch {
        return 1;
      }
    };
    while (this.#mayStart() && store.writable && this.#uncommittedCount < maxUncommitted) {
      const entry = this.#rotation.startNext(readCapacity);
      if (entry === undefined) return;
      void this.#run(entry);
    }
  }

  /** Runs an entry that has a slot. Drops an entry that has changed or whose time was undone. */
  async #run(entry: ScheduledEntry): Promise<void> {
    const { store, handlers, clock } = this.#options;
    const queuedEntry = store.get(schedule, entry.id);
    if (queuedEntry !== entry || !this.#mayRun(entry)) return this.#release(entry, queuedEntry ? undefined : "gone");
    const at = clock.now();
    this.#uncommittedCount += 1;
    try {
      const handler = handlers[entry.kind];
      if (!handler) throw new Error(`No handler is registered for schedule entries of kind ${entry.kind}`);
      const commit = await handler.start(store, entry, this.stopSignal);
      this.#finishedRuns.push({ entry, at, commit });
      this.wake();
    } catch (error) {
      this.#fail(entry, at, error);
    }
  }

  /** Commits runs in one transaction. The next transaction starts while this one is written to the disk. */
  async #commit(batch: readonly Run[]): Promise<void> {
    const { store, clock, handlers, createCauseRow } = this.#options;
    const commitAll = (tx: Transaction) => {
      this.stopSignal.throwIfAborted();
      const outcomes = batch.map(({ entry, commit }) => {
        const cause = createRunCause(entry, handlers[entry.kind]?.action, clock, createCauseRow);
        return tx.withCause(cause, () => commit(tx));
      });
      for (const { entry } of batch) this.#rotation.finish(entry);
      return outcomes;
    };
    try {
      const outcomes = await store.transaction("schedule.record", commitAll, clock.movedBy);
      for (const [i, { entry, at }] of batch.entries()) this.#report(entry, at, outcomes[i]!);
    } catch (error) {
      if (batch.length === 1) this.#fail(batch[0]!.entry, batch[0]!.at, error);
      // One failing commit makes the whole transaction fail, so the others are committed one by one.
      else for (const run of batch) await this.#commit([run]);
    }
  }

  #fail(entry: ScheduledEntry, at: number, error: unknown): void {
    // A failure of the store is not a failure of the entry: the entry runs again as soon as the store can be written.
    if (!(error instanceof StoreFailedError) || error instanceof FileWriteError) {
      this.#failedIds.add(entry.id);
      if (!this.stopSignal.aborted) this.#options.onError(entry, error);
    }
    this.#report(entry, at, "error");
    this.#addIfDue(entry);
  }

  /** Called when a run has ended and its outcome is durable. */
  #report(entry: ScheduledEntry, at: number, outcome: string): void {
    this.#uncommittedCount -= 1;
    this.#release(entry, outcome);
    this.onFinished?.(entry, at, outcome);
    this.wake();
  }

  #release(entry: ScheduledEntry, outcome: string | undefined): void {
    this.#rotation.finish(entry);
    this.#dueEntries.delete(entry);
    if (outcome === undefined) return;
    this.#outcomeWaiters.get(entry.id)?.(outcome);
    this.#outcomeWaiters.delete(entry.id);
  }
}
