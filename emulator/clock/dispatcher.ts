import { setMaxListeners } from "node:events";
import { onNextTurn } from "../../src/base/timing.ts";
import type { Cause } from "../store/cause.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import { FileWriteError, type Store, StoreFailedError, type Transaction, type View } from "../store/port.ts";
import { type JobCommit, type JobHandlers, type JobRun, mapByKind, prepareRuns } from "./job-handler.ts";
import { Rotation } from "./rotation.ts";
import { causeOf, createTimerCause, dueSortKey, dueSortKeyEnd, type ScheduledEntry, schedule } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** An entry whose run has ended: the virtual time at which it started, and its outcome. */
export interface FinishedEntry {
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly ref: string;
  readonly outcome: string;
}

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly handlers: JobHandlers;
  /** How many entries may run at the same time (see `Rotation`). */
  readonly maxConcurrent: number;
  readonly causeRow: MakeCauseRow;
  /** Called when the run of an entry threw: it stays in the queue and is left alone until the next start. */
  readonly onError: (entry: ScheduledEntry, error: unknown) => void;
}

interface StartedRun {
  readonly entry: ScheduledEntry;
  /** Virtual time. */
  readonly at: number;
}

interface FinishedRun extends StartedRun {
  readonly commit: JobCommit;
  readonly cause: Cause | undefined;
}

/** How many entries are listed in one view. */
const pageSize = 1_000;
/** This many entries for each slot may be started and not yet durable: after a crash they run again. */
const maxUncommittedPerSlot = 4;

/**
 * Runs entries that are due at the present virtual time. It does not advance the clock. An entry is listed or reported
 * by the store when it is due, waits for its turn, is prepared in one view with others, runs outside the state, and
 * leaves the queue in the transaction that records its outcome.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #rotation: Rotation;
  /** Due entries, waiting or running, as they last stood in the queue. */
  readonly #known = new Map<number, ScheduledEntry>();
  readonly #failed = new Set<number>();
  readonly #finished: FinishedRun[] = [];
  readonly #awaited = new Map<number, (outcome: string) => void>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly #unwatch: () => void;
  /** All that is due until then is known, or will be reported. */
  #listedUntil = Number.NEGATIVE_INFINITY;
  /** Started, and their outcomes not durable. */
  #uncommitted = 0;
  #isWoken = false;
  #isLooking = false;
  /** Called with each entry whose run has ended. */
  onFinished: ((entry: FinishedEntry) => void) | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#rotation = new Rotation(options.maxConcurrent);
    this.#unwatch = options.store.watchRows([schedule], (changes) => {
      for (const { after } of changes ?? []) if (after) this.#offer(after as ScheduledEntry);
      this.wake();
    });
    // Every running entry may listen.
    setMaxListeners(0, this.#stop.signal);
  }

  /** The queue or the time has changed: looks at it, once for all changes of one turn of the event loop. */
  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    onNextTurn(() => void this.#look());
  }

  /** Resolves when nothing is running and nothing is due. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.wake();
    });
  }

  /**
   * The outcome of the next run of an entry, in a word; `closing` when the emulator ends before, `dropped` when the
   * state is replaced. To be called in the transaction that adds the entry, so that it cannot have run before.
   */
  waitForOutcome(id: number): Promise<string> {
    return new Promise((resolve) => this.#awaited.set(id, resolve));
  }

  /**
   * Runs due entries of a cause, of these kinds, before all else and without waiting for running ones; resolves when
   * their outcome is durable.
   */
  async prioritize(cause: string, isMeant: (kind: string) => boolean): Promise<void> {
    const { clock } = this.#options;
    const outcomes: Promise<string>[] = [];
    const entries: ScheduledEntry[] = [];
    const runs = await this.#prepareEntries(entries, async (view) => {
      for (const entry of await view.list(schedule, { by: "asked_by", equals: cause })) {
        if (entry.due > clock.now() || !isMeant(entry.kind) || this.#failed.has(entry.id)) continue;
        if (this.#stop.signal.aborted) continue;
        // Still inside, so that its outcome cannot be committed before it is awaited.
        outcomes.push(this.waitForOutcome(entry.id));
        const known = this.#known.get(entry.id);
        if (known !== undefined && !this.#rotation.remove(known)) continue;
        this.#known.set(entry.id, entry);
        this.#rotation.start(entry);
        entries.push(entry);
      }
    });
    for (const [i, entry] of entries.entries()) this.#start(entry, runs[i]!);
    await Promise.all(outcomes);
  }

  /** Starts no more entries, aborts running ones without committing them, and resolves when all have ended. */
  async stop(): Promise<void> {
    this.#end();
    await this.whenIdle();
    this.#resolveAwaited("closing");
  }

  /** The same at once, for its state is replaced: no outcome is committed from now on. Returns the running entries. */
  abandon(): readonly ScheduledEntry[] {
    const { running } = this.#rotation;
    this.#end();
    this.#resolveAwaited("dropped");
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
    return running;
  }

  /** Aborted once nothing more is started. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  #end(): void {
    this.#unwatch();
    this.#stop.abort();
  }

  #resolveAwaited(outcome: string): void {
    for (const resolve of this.#awaited.values()) resolve(outcome);
    this.#awaited.clear();
  }

  /** Lets an entry wait for its turn if it is due; false: it is not, or is known. */
  #offer(entry: ScheduledEntry): boolean {
    const known = this.#known.get(entry.id);
    if (known === entry || entry.due > this.#options.clock.now() || this.#failed.has(entry.id)) return false;
    this.#known.set(entry.id, entry);
    // A running entry is checked again when its run has ended.
    if (known !== undefined && !this.#rotation.remove(known)) return false;
    this.#rotation.add(entry);
    return true;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#isWoken) {
      this.#isWoken = false;
      // While nothing can be committed nothing is started; the store reports when it can.
      if (this.#isHalted) break;
      try {
        await this.#listDue();
        while (!this.#isHalted && (await this.#startNext()));
      } catch {
        // The disk fails, or the store is closed: it is looked at again when it can be written.
      }
    }
    this.#isLooking = false;
    this.#isWoken = false;
    const isIdle = this.#known.size === this.#failed.size;
    if (this.#uncommitted > 0 || !(isIdle || this.#stop.signal.aborted)) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  get #isHalted(): boolean {
    return this.#stop.signal.aborted || !this.#options.store.writable;
  }

  /** Finds what became due since the last time. */
  async #listDue(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    if (now <= this.#listedUntil) return;
    let from = dueSortKeyEnd(this.#listedUntil);
    for (;;) {
      const fresh: ScheduledEntry[] = [];
      const last = await store.read(async (view) => {
        const page = await view.list(schedule, { by: "turn", from, to: dueSortKeyEnd(now), limit: pageSize });
        for (const entry of page) if (this.#offer(entry)) fresh.push(entry);
        return page.length < pageSize ? undefined : page.at(-1);
      });
      try {
        // An entry starts only when it and its time are durable: a crash cannot undo a request.
        if (fresh.length > 0) await Promise.all([store.durable(), clock.durable()]);
      } catch (failed) {
        for (const entry of fresh) if (this.#rotation.remove(entry)) this.#known.delete(entry.id);
        throw failed;
      }
      if (last === undefined) break;
      from = dueSortKey(last.due, last.id + 1);
    }
    this.#listedUntil = now;
  }

  /** Starts as many as may run; false: there was none. */
  async #startNext(): Promise<boolean> {
    const { handlers } = this.#options;
    const entries = this.#takeNext();
    let unread = this.#rotation.takeUnread();
    if (entries.length === 0 && unread.length === 0) return false;
    const runs = await this.#prepareEntries(entries, async (view) => {
      for (; unread.length > 0; unread = this.#rotation.takeUnread()) {
        const capacities = await mapByKind(unread, (kind, keys) => readCapacities(handlers, view, kind, keys));
        for (const [i, key] of unread.entries()) key.capacity = Math.max(1, capacities[i]!);
        entries.push(...this.#takeNext());
      }
    });
    for (const [i, entry] of entries.entries()) this.#start(entry, runs[i]!);
    return entries.length > 0;
  }

  /** Prepares entries that were given slots, in the view in which `choose` may add others; without a view they wait again. */
  async #prepareEntries(
    entries: readonly ScheduledEntry[],
    choose: (view: View) => Promise<void>,
  ): Promise<readonly JobRun[]> {
    const { store, handlers } = this.#options;
    try {
      return await store.read(async (view) => {
        await choose(view);
        return prepareRuns(handlers, view, entries);
      });
    } catch (error) {
      for (const entry of entries) {
        this.#rotation.finish(entry);
        this.#rotation.add(entry);
      }
      throw error;
    }
  }

  #takeNext(): ScheduledEntry[] {
    const entries: ScheduledEntry[] = [];
    const left = this.#options.maxConcurrent * maxUncommittedPerSlot - this.#uncommitted;
    while (entries.length < left) {
      const entry = this.#rotation.next();
      if (entry === undefined) break;
      entries.push(entry);
    }
    return entries;
  }

  #start(entry: ScheduledEntry, run: JobRun): void {
    this.#uncommitted += 1;
    const at = this.#options.clock.now();
    const failed = (error: unknown) => this.#fail({ entry, at }, error);
    try {
      // Not awaited: one promise less for each delivery is felt.
      run(this.#stop.signal).then((commit) => {
        this.#finished.push({ entry, at, commit, cause: this.#causeOf(entry) });
        if (this.#finished.length === 1) onNextTurn(() => void this.#commit(this.#finished.splice(0)));
      }, failed);
    } catch (error) {
      failed(error);
    }
  }

  #causeOf(entry: ScheduledEntry): Cause | undefined {
    const { handlers, clock, causeRow } = this.#options;
    const does = handlers[entry.kind]?.does;
    return does === undefined ? causeOf(entry) : createTimerCause(entry, does, clock, causeRow);
  }

  /** Commits runs in one transaction. The next one begins while this one is on its way to the disk. */
  async #commit(batch: readonly FinishedRun[]): Promise<void> {
    const { store, clock, maxConcurrent } = this.#options;
    try {
      const commitAll = async (tx: Transaction) => {
        this.#stop.signal.throwIfAborted();
        const outcomes = await commitByCause(tx, batch);
        // One at a time is in order: effects of an outcome are durable, and known, before the next one starts.
        if (maxConcurrent > 1) for (const { entry } of batch) this.#rotation.finish(entry);
        this.wake();
        return outcomes;
      };
      const outcomes = await store.transaction("schedule.record", commitAll, clock.movedBy);
      for (const [i, run] of batch.entries()) this.#completeRun(run, outcomes[i]!);
    } catch (error) {
      if (batch.length === 1) this.#fail(batch[0]!, error);
      // One of them fails the others, which must not be lost.
      else for (const run of batch) await this.#commit([run]);
    }
  }

  /** The outcome of a run is durable. */
  #completeRun(run: StartedRun, outcome: string): void {
    const { entry } = run;
    this.#rotation.finish(entry);
    const latest = this.#known.get(entry.id);
    // It may be due again by now.
    if (latest === entry) this.#known.delete(entry.id);
    else if (latest) this.#rotation.add(latest);
    this.#report(run, outcome);
  }

  #fail(run: StartedRun, error: unknown): void {
    const { entry } = run;
    this.#rotation.finish(entry);
    // Not the entry's failure: it starts again as soon as the store can be written.
    if (error instanceof StoreFailedError && !(error instanceof FileWriteError)) {
      this.#rotation.add(this.#known.get(entry.id) ?? entry);
    } else {
      this.#failed.add(entry.id);
      if (!this.#stop.signal.aborted) this.#options.onError(entry, error);
    }
    this.#report(run, "error");
  }

  #report({ entry: { id, kind, ref }, at }: StartedRun, outcome: string): void {
    this.#uncommitted -= 1;
    if (this.#awaited.size > 0) {
      this.#awaited.get(id)?.(outcome);
      this.#awaited.delete(id);
    }
    this.onFinished?.({ id, at, kind, ref, outcome });
    this.wake();
  }
}

/** A handler that fails to answer must not stop its keys: one at a time is always allowed. */
async function readCapacities(
  handlers: JobHandlers,
  view: View,
  kind: string,
  keys: readonly { readonly name: string }[],
): Promise<readonly number[]> {
  const names = keys.map(({ name }) => name);
  const capacities = await handlers[kind]?.capacity?.(view, names).catch(() => undefined);
  return capacities ?? names.map(() => 1);
}

/** Commits runs in order; consecutive ones with one cause whose row exists are committed under it together. */
async function commitByCause(tx: Transaction, batch: readonly FinishedRun[]): Promise<readonly string[]> {
  const outcomes: string[] = [];
  for (let from = 0, to = 0; from < batch.length; from = to) {
    const { cause } = batch[from]!;
    do to += 1;
    while (to < batch.length && !cause?.row && !batch[to]!.cause?.row && batch[to]!.cause?.id === cause?.id);
    await tx.because(cause, async () => {
      for (const { commit } of batch.slice(from, to)) {
        const outcome = commit(tx);
        outcomes.push(typeof outcome === "string" ? outcome : await outcome);
      }
    });
  }
  return outcomes;
}
