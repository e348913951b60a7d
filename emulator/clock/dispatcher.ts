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
  /** Due entries, waiting or running, in their last known version. */
  readonly #known = new Map<number, ScheduledEntry>();
  readonly #failed = new Set<number>();
  readonly #finished: FinishedRun[] = [];
  readonly #awaited = new Map<number, (outcome: string) => void>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #stop = new AbortController();
  /** Aborted once no more entries are started. */
  readonly stopped = this.#stop.signal;
  readonly #unwatch: () => void;
  /** Entries that are due until this time are known, or will be reported. */
  #knownUntil = Number.NEGATIVE_INFINITY;
  /** Entries that were started and whose outcomes are not durable. */
  #uncommitted = 0;
  #isWoken = false;
  #isLooking = false;
  /** Called with each entry whose run has ended. */
  onFinished: ((entry: FinishedEntry) => void) | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#rotation = new Rotation(options.maxConcurrent);
    this.#unwatch = options.store.watch([schedule], (changes) => {
      if (typeof changes !== "string") for (const { after } of changes) if (after) this.#offer(after as ScheduledEntry);
      this.wake();
    });
    // Every running entry may add a listener.
    setMaxListeners(0, this.stopped);
  }

  /** Checks the queue after a change of it or of the time, once per turn of the event loop. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    runOnNextTurn(() => void this.#look());
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
    return new Promise((resolve) => this.#awaited.set(id, resolve));
  }

  /**
   * Runs due entries of a cause and of these kinds before all other entries. Resolves when their outcomes are durable.
   */
  async prioritize(cause: string, isMeant: (kind: string) => boolean): Promise<void> {
    const outcomes: Promise<string>[] = [];
    await this.#options.store.read(async (view) => {
      const entries: ScheduledEntry[] = [];
      for (const entry of await view.list(schedule, { by: "asked_by", equals: cause })) {
        if (this.stopped.aborted || !isMeant(entry.kind) || !this.#mayRun(entry)) continue;
        outcomes.push(this.waitForOutcome(entry.id));
        this.#offer(entry);
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
    for (const resolve of this.#awaited.values()) resolve(outcome);
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #mayRun({ id, due }: ScheduledEntry): boolean {
    return due <= this.#options.clock.now() && !this.#failed.has(id);
  }

  #offer(entry: ScheduledEntry): void {
    if (this.#known.get(entry.id) === entry || !this.#mayRun(entry)) return;
    this.#known.set(entry.id, entry);
    this.#rotation.add(entry);
  }

  /** Nothing is started while nothing can be committed. The store reports when it can commit again. */
  get #isHalted(): boolean {
    return this.stopped.aborted || !this.#options.store.writable;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#isWoken && !this.#isHalted) {
      this.#isWoken = false;
      try {
        await this.#listDue();
        while (!this.#isHalted && (await this.#startNext()));
      } catch {
        // The disk fails, or the store is closed. The store notifies this dispatcher when it can be written again.
      }
    }
    this.#isLooking = false;
    this.#isWoken = false;
    if (this.#uncommitted > 0 || !(this.#known.size === 0 || this.stopped.aborted)) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  async #listDue(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    if (now <= this.#knownUntil) return;
    await store.read(async (view) => {
      const slice = { by: "turn", from: toDueSortKeyEnd(this.#knownUntil), to: toDueSortKeyEnd(now) } as const;
      for (const entry of await view.list(schedule, slice)) this.#offer(entry);
    });
    // An entry starts only when the entry and its time are durable, because a crash cannot undo a request.
    await Promise.all([store.waitUntilDurable(), clock.waitUntilDurable()]);
    this.#knownUntil = now;
  }

  /** Starts as many entries as possible. Returns false if it started none. */
  #startNext(): Promise<boolean> {
    const { store, handlers, maxConcurrent } = this.#options;
    return store.read(async (view) => {
      await readCapacities(handlers, view, this.#rotation.listContendedKeys());
      const entries: ScheduledEntry[] = [];
      while (this.#uncommitted + entries.length < maxConcurrent * maxUncommittedPerSlot) {
        const entry = this.#rotation.next();
        if (entry === undefined) break;
        entries.push(entry);
      }
      await this.#start(view, entries);
      return entries.length > 0;
    });
  }

  /** Starts entries that were given slots. Drops entries that have changed or whose time was undone. */
  async #start(view: View, started: readonly ScheduledEntry[]): Promise<void> {
    const rows = await view.getAll(schedule, started, ({ id }) => id);
    const entries = started.filter((entry, i) => {
      const isQueued = rows[i]?.due === entry.due;
      const isLatest = this.#known.get(entry.id) === entry;
      if (isQueued && isLatest && this.#mayRun(entry)) return true;
      this.#release(entry, isLatest && !isQueued ? "gone" : undefined);
      return false;
    });
    const runs = await prepareRuns(this.#options.handlers, view, entries);
    for (const [i, entry] of entries.entries()) this.#run(entry, runs[i]!);
  }

  #run(entry: ScheduledEntry, work: JobRun): void {
    this.#uncommitted += 1;
    const run = { entry, at: this.#options.clock.now() };
    // Not awaited, to save a promise for each delivery.
    work(this.stopped).then(
      (commit) => {
        this.#finished.push({ ...run, commit });
        if (this.#finished.length === 1) runOnNextTurn(() => void this.#commit(this.#finished.splice(0)));
      },
      (error) => this.#fail(run, error),
    );
  }

  /** Commits runs in one transaction. The next transaction starts while this one is written to the disk. */
  async #commit(batch: readonly FinishedRun[]): Promise<void> {
    const { store, clock, handlers, createCauseRow, maxConcurrent } = this.#options;
    try {
      const commitAll = async (tx: Transaction) => {
        this.stopped.throwIfAborted();
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
      this.#failed.add(entry.id);
      if (!this.stopped.aborted) this.#options.onError(entry, error);
    }
    this.#report(run, "error");
    if (!this.#known.has(entry.id)) this.#offer(entry);
  }

  /** Called when a run has ended and its outcome is durable. */
  #report({ entry, at }: Run, outcome: string): void {
    this.#uncommitted -= 1;
    this.#release(entry, outcome);
    this.onFinished?.({ id: entry.id, at, kind: entry.kind, ref: entry.ref, outcome });
    this.wake();
  }

  #release(entry: ScheduledEntry, outcome: string | undefined): void {
    this.#rotation.finish(entry);
    // The entry may be due again.
    if (this.#known.get(entry.id) === entry) this.#known.delete(entry.id);
    if (outcome === undefined) return;
    this.#awaited.get(entry.id)?.(outcome);
    this.#awaited.delete(entry.id);
  }
}
