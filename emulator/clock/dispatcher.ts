import { setMaxListeners } from "node:events";
import { runOnNextTurn } from "../../src/base/timing.ts";
import type { CauseRowFactory } from "../store/causes.ts";
import { FileWriteError, type Store, StoreFailedError, type Transaction, type View } from "../store/port.ts";
import { type JobCommit, type JobHandlers, type JobRun, prepareRuns, readCapacities } from "./job-handler.ts";
import { Rotation } from "./rotation.ts";
import { createRunCause, type ScheduledEntry, schedule, toDueSortKeyEnd } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly handlers: JobHandlers;
  /** The maximum number of entries that run at the same time (see `Rotation`). */
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
}

interface FinishedRun extends Run {
  readonly commit: JobCommit;
}

/** An entry whose outcome is durable. */
export type FinishedEntry = Pick<ScheduledEntry, "id" | "kind" | "ref"> &
  Pick<Run, "at"> & { readonly outcome: string };

/** The number of entries per slot that may be started before they are durable. After a crash they run again. */
const maxUncommittedPerSlot = 4;

/**
 * Runs entries that are due at the present virtual time, in one loop. It runs them outside the state and commits their
 * outcomes in one transaction, which removes them from the queue. It does not advance the clock.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #rotation: Rotation;
  /** Due entries, waiting or running, in their latest version. */
  readonly #dueEntries = new Map<number, ScheduledEntry>();
  readonly #failedIds = new Set<number>();
  readonly #finishedRuns: FinishedRun[] = [];
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
  #isRunning = false;
  /** Called with each entry whose run has ended. */
  onFinished: ((entry: FinishedEntry) => void) | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#rotation = new Rotation(options.maxConcurrent);
    this.#unwatch = options.store.watch([schedule], (changes) => {
      if (typeof changes !== "string")
        for (const { after } of changes) if (after) this.#addIfDue(after as ScheduledEntry);
      this.wake();
    });
    // Every running entry may add a listener.
    setMaxListeners(0, this.stopSignal);
  }

  /** Checks the queue after a change of it or of the time, once per turn of the event loop. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    runOnNextTurn(() => void this.#runDueEntries());
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
    return new Promise((resolve) => this.#outcomeWaiters.set(id, resolve));
  }

  /**
   * Runs due entries of a cause and of these kinds before all other entries. Resolves when their outcomes are durable.
   */
  async prioritize(cause: string, matchesKind: (kind: string) => boolean): Promise<void> {
    const outcomes: Promise<string>[] = [];
    await this.#options.store.read(async (view) => {
      const entries: ScheduledEntry[] = [];
      for (const entry of await view.list(schedule, { by: "asked_by", equals: cause })) {
        if (this.stopSignal.aborted || !matchesKind(entry.kind) || !this.#mayRun(entry)) continue;
        outcomes.push(this.waitForOutcome(entry.id));
        this.#addIfDue(entry);
        if (this.#rotation.startBeforeOthers(entry)) entries.push(entry);
      }
      await this.#start(view, entries);
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
    return [...this.#rotation.running.keys()];
  }

  #end(outcome: string): void {
    this.#unwatch();
    for (const resolve of this.#outcomeWaiters.values()) resolve(outcome);
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #mayRun({ id, due }: ScheduledEntry): boolean {
    return due <= this.#options.clock.now() && !this.#failedIds.has(id);
  }

  #addIfDue(entry: ScheduledEntry): void {
    if (this.#dueEntries.get(entry.id) === entry || !this.#mayRun(entry)) return;
    this.#dueEntries.set(entry.id, entry);
    this.#rotation.add(entry);
  }

  /** Nothing is started while nothing can be committed. The store reports when it can commit again. */
  get #isHalted(): boolean {
    return this.stopSignal.aborted || !this.#options.store.writable;
  }

  async #runDueEntries(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#isWoken && !this.#isHalted) {
      this.#isWoken = false;
      try {
        await this.#listDue();
        while (!this.#isHalted && (await this.#startNext()));
      } catch {
        // The disk fails, or the store is closed. The store notifies this dispatcher when it can be written again.
      }
    }
    this.#isRunning = false;
    this.#isWoken = false;
    if (this.#uncommittedCount > 0 || !(this.#dueEntries.size === 0 || this.stopSignal.aborted)) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  async #listDue(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    if (now <= this.#listedUntil) return;
    await store.read(async (view) => {
      const slice = { by: "turn", from: toDueSortKeyEnd(this.#listedUntil), to: toDueSortKeyEnd(now) } as const;
      for (const entry of await view.list(schedule, slice)) this.#addIfDue(entry);
    });
    // An entry starts only when the entry and its time are durable, because a crash cannot undo a request.
    await Promise.all([store.waitUntilDurable(), clock.waitUntilDurable()]);
    this.#listedUntil = now;
  }

  /** Starts as many entries as possible. Returns false if it started none. */
  #startNext(): Promise<boolean> {
    const { store, handlers, maxConcurrent } = this.#options;
    return store.read(async (view) => {
      await readCapacities(handlers, view, this.#rotation.listContendedKeys());
      const entries: ScheduledEntry[] = [];
      while (this.#uncommittedCount + entries.length < maxConcurrent * maxUncommittedPerSlot) {
        const entry = this.#rotation.next();
        if (entry === undefined) break;
        entries.push(entry);
      }
      await this.#start(view, entries);
      return entries.length > 0;
    });
  }

  /** Starts entries that were given slots. Drops entries that have changed or whose time was undone. */
  async #start(view: View, candidates: readonly ScheduledEntry[]): Promise<void> {
    const rows = await view.getAll(schedule, candidates, ({ id }) => id);
    const entries = candidates.filter((entry, i) => {
      const isQueued = rows[i]?.due === entry.due;
      const isLatest = this.#dueEntries.get(entry.id) === entry;
      if (isQueued && isLatest && this.#mayRun(entry)) return true;
      this.#release(entry, isLatest && !isQueued ? "gone" : undefined);
      return false;
    });
    const runs = await prepareRuns(this.#options.handlers, view, entries);
    for (const [i, entry] of entries.entries()) this.#run(entry, runs[i]!);
  }

  #run(entry: ScheduledEntry, work: JobRun): void {
    this.#uncommittedCount += 1;
    const at = this.#options.clock.now();
    // This is not awaited, which saves a promise for each delivery.
    work(this.stopSignal).then(
      (commit) => {
        this.#finishedRuns.push({ entry, at, commit });
        if (this.#finishedRuns.length === 1) runOnNextTurn(() => void this.#commit(this.#finishedRuns.splice(0)));
      },
      (error) => this.#fail({ entry, at }, error),
    );
  }

  /** Commits runs in one transaction. The next transaction starts while this one is written to the disk. */
  async #commit(batch: readonly FinishedRun[]): Promise<void> {
    const { store, clock, handlers, createCauseRow, maxConcurrent } = this.#options;
    try {
      const commitAll = async (tx: Transaction) => {
        this.stopSignal.throwIfAborted();
        const outcomes: string[] = [];
        for (const { entry, commit } of batch) {
          const cause = createRunCause(entry, handlers[entry.kind]?.action, clock, createCauseRow);
          outcomes.push(await tx.withCause(cause, () => commit(tx)));
        }
        // With one entry at a time, effects of an outcome are durable and known before the next entry starts.
        if (maxConcurrent > 1) for (const { entry } of batch) this.#rotation.finish(entry);
        this.wake();
        return outcomes;
      };
      const outcomes = await store.transaction("schedule.record", commitAll, clock.movedBy);
      for (const [i, run] of batch.entries()) this.#report(run, outcomes[i]!);
    } catch (error) {
      if (batch.length === 1) this.#fail(batch[0]!, error);
      // One failing commit makes the whole transaction fail, so the others are committed one by one.
      else for (const run of batch) await this.#commit([run]);
    }
  }

  #fail(run: Run, error: unknown): void {
    const { entry } = run;
    // A failure of the store is not a failure of the entry: the entry runs again as soon as the store can be written.
    if (!(error instanceof StoreFailedError) || error instanceof FileWriteError) {
      this.#failedIds.add(entry.id);
      if (!this.stopSignal.aborted) this.#options.onError(entry, error);
    }
    this.#report(run, "error");
    if (!this.#dueEntries.has(entry.id)) this.#addIfDue(entry);
  }

  /** Called when a run has ended and its outcome is durable. */
  #report({ entry, at }: Run, outcome: string): void {
    this.#uncommittedCount -= 1;
    this.#release(entry, outcome);
    this.onFinished?.({ id: entry.id, at, kind: entry.kind, ref: entry.ref, outcome });
    this.wake();
  }

  #release(entry: ScheduledEntry, outcome: string | undefined): void {
    this.#rotation.finish(entry);
    // The entry may be due again.
    if (this.#dueEntries.get(entry.id) === entry) this.#dueEntries.delete(entry.id);
    if (outcome === undefined) return;
    this.#outcomeWaiters.get(entry.id)?.(outcome);
    this.#outcomeWaiters.delete(entry.id);
  }
}
