import { setMaxListeners } from "node:events";
import { onNextTurn } from "../../src/base/next-turn.ts";
import type { Cause } from "../store/cause.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import { FileRefused, type Store, StoreFailed } from "../store/port.ts";
import { Admission } from "./admission.ts";
import { causeOf, timerCause } from "./causes.ts";
import { Committer } from "./committer.ts";
import type { Commit, JobHandlers, Run } from "./job-handler.ts";
import { Preparer } from "./preparer.ts";
import { Ready } from "./ready.ts";
import { type Entry, endOf, schedule, turnOf } from "./schedule.ts";
import { Slots } from "./slots.ts";
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
  /** How many entries may be running (see `Slots`). */
  readonly atOnce: number;
  readonly causeRow: MakeCauseRow;
  /** Called when the run of an entry threw: it stays in the queue and is left alone until the next start. */
  readonly onTrouble: (entry: Entry, error: unknown) => void;
}

interface StartedRun {
  readonly entry: Entry;
  /** Virtual time. */
  readonly at: number;
}

interface FinishedRun extends StartedRun {
  readonly commit: Commit;
  readonly cause: Cause | undefined;
}

const listedAtOnce = 1_000;

/**
 * Runs what is due at the present virtual time, of each owner in order of (due, id), within the limits. It moves no time.
 *
 * An entry is **due** when its time has come; **admitted** when its concurrency key has capacity for it; **prepared** when its job handler has read what it needs, in
 * one view with others; **running** while its work is done outside the state; **committed** when a transaction has
 * recorded the outcome, and taken it from the queue or moved it to a later time; **durable** when that is on the disk.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #admission: Admission;
  /** Entries that are ready, waiting for capacity, under way, or failed, by their ids. */
  readonly #taken = new Map<number, Entry>();
  readonly #stop = new AbortController();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #awaited = new Map<number, (outcome: string) => void>();
  readonly #ready = new Ready();
  readonly #preparer: Preparer;
  readonly #committer: Committer<FinishedRun>;
  readonly #slots: Slots;
  readonly #failed = new Set<number>();
  /** Those that are just being listed and begin as soon as they are. */
  readonly #ahead = new Set<number>();
  #mayHaveMore = true;
  /** The last list was of what stands behind a long backlog alone. */
  #isPartial = false;
  /** Something was listed that is due again and whose last run has not quite ended. */
  #isDueAgain = false;
  #woken = false;
  #listing = false;
  /** Turn of the last entry taken from the queue. */
  #reached = "";
  /** Called with each entry whose run has ended. */
  onFinished: ((entry: FinishedEntry) => void) | undefined;

  constructor(options: DispatcherOptions) {
    const { store, clock, handlers } = options;
    this.#options = options;
    this.#slots = new Slots(options.atOnce);
    this.#admission = new Admission(store, handlers, (admitted) => {
      for (const entry of admitted) this.#ready.add(entry, this.#ownerOf(entry));
      // The listing pumps at its end, when all that is due stands in order.
      if (!this.#listing) this.#pump();
    });
    this.#preparer = new Preparer(store, handlers, (entry, run) => this.#run(entry, run));
    this.#committer = new Committer(store, () => clock.movedBy, this.#stop.signal, {
      inState: (batch) => this.#leave(batch),
      durable: (batch, outcomes) => this.#ended(batch, outcomes),
      failed: (run, cause) => this.#inTrouble(run, cause),
    });
    // Every entry under way may listen.
    setMaxListeners(0, this.#stop.signal);
  }

  /** The queue or the time has changed. It is looked at once for all changes of one turn of the event loop. */
  wake(): void {
    this.#mayHaveMore = true;
    this.#pumpSoon();
  }

  #pumpSoon(): void {
    if (this.#woken) return;
    this.#woken = true;
    onNextTurn(() => {
      this.#woken = false;
      this.#pump();
    });
  }

  /** Resolves when nothing is under way and nothing is due. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.wake();
    });
  }

  /**
   * The outcome of the next run of an entry, in a word; `closing` when the emulator ends before, `dropped` when another
   * state takes the place of this one. To be asked for in the transaction that adds the entry, so that it cannot have
   * run before.
   */
  outcomeOf(id: number): Promise<string> {
    return new Promise((resolve) => this.#awaited.set(id, resolve));
  }

  /**
   * Begins what is due because of a cause, of these kinds, before all else and whatever is under way; resolves when its
   * outcome is durable. One thing at a time, as under --deterministic, is otherwise what the slots allow.
   */
  async hasten(cause: string, isMeant: (kind: string) => boolean): Promise<void> {
    const { store, clock } = this.#options;
    const outcomes: Promise<string>[] = [];
    await store.read(async (view) => {
      for (const entry of await view.list(schedule, { by: "asked_by", equals: cause })) {
        if (entry.due > clock.now() || !isMeant(entry.kind) || this.#failed.has(entry.id)) continue;
        if (this.#stop.signal.aborted) return;
        // Still inside, so that its outcome cannot be committed before somebody waits for it.
        outcomes.push(this.outcomeOf(entry.id));
        this.#beginAhead(entry);
      }
    });
    await Promise.all(outcomes);
  }

  #beginAhead(entry: Entry): void {
    if (!this.#ready.remove(entry.id) && this.#taken.has(entry.id)) {
      if (!this.#slots.isHeldBy(entry)) this.#ahead.add(entry.id);
      return;
    }
    this.#taken.set(entry.id, entry);
    this.#begin(entry);
  }

  /** Starts nothing more, breaks off what is under way without committing it, and resolves when all has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.idle();
    this.#tellAwaited("closing");
  }

  /**
   * The same at once, for its state is no more: no outcome of what is under way is committed from now on. Says what is
   * under way.
   */
  abandon(): readonly Entry[] {
    const underWay = this.#slots.holders;
    this.#stop.abort();
    this.#tellAwaited("dropped");
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
    return underWay;
  }

  /** Aborted once nothing more is started. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  #tellAwaited(outcome: string): void {
    for (const tell of this.#awaited.values()) tell(outcome);
    this.#awaited.clear();
  }

  #pump(): void {
    // While nothing can be committed, nothing is begun: the store tells when it can.
    const stopped = this.#stop.signal.aborted || !this.#options.store.writable;
    while (!stopped && this.#slots.areLeft) {
      const next = this.#ready.take(this.#slots);
      if (next === undefined) break;
      this.#begin(next);
    }
    // Without slots only what came last is looked at: somebody may be there who has nothing under way.
    const looks = this.#slots.areLeft || this.#options.atOnce > 1;
    if (this.#isPartial && this.#isShort) this.#mayHaveMore = true;
    if (!stopped && this.#mayHaveMore && looks) return void this.#list();
    if (this.#slots.areInUse || this.#listing) return;
    if (stopped || this.#taken.size === this.#failed.size) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #ownerOf({ concurrency_key: key }: Entry): string {
    return this.#admission.ownerOf(key) ?? "";
  }

  /** Whether the backlog is so short that all that is due can be listed. */
  get #isShort(): boolean {
    return this.#slots.areLeft && this.#taken.size < listedAtOnce;
  }

  async #list(): Promise<void> {
    if (this.#listing) return;
    this.#listing = true;
    this.#mayHaveMore = false;
    // With a long backlog only what comes behind it is listed; what was put before it is found when it has shrunk.
    const short = this.#isShort;
    this.#isPartial = !short;
    const limit = listedAtOnce + (short ? this.#taken.size : 0);
    const fresh: Entry[] = [];
    let owners: ReadonlyMap<string, string> = new Map();
    const { store, clock, atOnce } = this.#options;
    try {
      await store.read(async (view) => {
        const slice = { by: "turn", to: endOf(clock.now()), limit } as const;
        const found = await view.list(schedule, short ? slice : { ...slice, from: this.#reached });
        // Still inside, so that no entry can leave the queue between being listed and being taken.
        for (const entry of found) {
          const taken = this.#taken.get(entry.id);
          if (taken === undefined) fresh.push(entry);
          // Rows are handed out by reference: another one was put in its place.
          else if (taken !== entry) this.#isDueAgain = true;
        }
        for (const entry of fresh) this.#taken.set(entry.id, entry);
        if (found.length === limit) this.#mayHaveMore = true;
        if (atOnce > 1) owners = await this.#admission.ownersOf(view, fresh);
      });
      // Nothing is begun before what was listed is durable, and the time that it is: what is sent no crash takes back.
      await Promise.all([store.durable(), clock.durable()]);
      for (const entry of fresh) this.#take(entry, owners);
      const last = fresh.at(-1);
      if (last) this.#reached = turnOf(last.due, last.id);
    } catch {
      // The disk refuses, or the store is closed: nothing could be committed any more, so nothing is begun.
      for (const { id } of fresh) this.#taken.delete(id);
    } finally {
      this.#listing = false;
      this.#pump();
    }
  }

  #take(entry: Entry, owners: ReadonlyMap<string, string>): void {
    const { concurrency_key: key, kind } = entry;
    if (this.#ahead.delete(entry.id)) this.#begin(entry);
    // One at a time needs no admission: order over all keys and owners is by (due, id) alone.
    else if (this.#options.atOnce === 1) this.#ready.add(entry, "");
    else {
      const owner = this.#admission.ownerOf(key) ?? owners.get(key) ?? kind;
      if (this.#admission.offer(entry, owner)) this.#ready.add(entry, owner);
    }
  }

  #begin(entry: Entry): void {
    this.#slots.take(entry, this.#ownerOf(entry));
    this.#preparer.add(entry);
  }

  #run(entry: Entry, run: Run): void {
    const at = this.#options.clock.now();
    const inTrouble = (error: unknown) => this.#inTrouble({ entry, at }, error);
    try {
      // Not awaited: one promise less for each delivery is felt.
      run(this.#stop.signal).then(
        (commit) => this.#committer.add({ entry, at, commit, cause: this.#causeOf(entry) }),
        inTrouble,
      );
    } catch (error) {
      inTrouble(error);
    }
  }

  #causeOf(entry: Entry): Cause | undefined {
    const { handlers, clock, causeRow } = this.#options;
    const does = handlers[entry.kind]?.does;
    return does === undefined ? causeOf(entry) : timerCause(entry, does, clock, causeRow);
  }

  #leave(batch: readonly StartedRun[]): void {
    for (const { entry } of batch) if (this.#slots.leave(entry)) this.#admission.finished(entry);
    this.#pump();
  }

  #ended(batch: readonly FinishedRun[], outcomes: readonly string[]): void {
    for (const [i, run] of batch.entries()) {
      this.#taken.delete(run.entry.id);
      this.#tell(run, outcomes[i]!);
    }
    this.#slots.end(batch.length);
    if (this.#isDueAgain) this.#mayHaveMore = true;
    this.#isDueAgain = false;
    this.#pumpSoon();
  }

  #inTrouble(run: StartedRun, error: unknown): void {
    // It is no trouble of the entry's: it begins again as soon as the store can be written again.
    const isOfStore = error instanceof StoreFailed && !(error instanceof FileRefused);
    if (isOfStore) this.#taken.delete(run.entry.id);
    else {
      this.#failed.add(run.entry.id);
      if (!this.#stop.signal.aborted) this.#options.onTrouble(run.entry, error);
    }
    this.#tell(run, "error");
    this.#leave([run]);
    this.#slots.end(1);
    this.wake();
  }

  #tell({ entry: { id, kind, ref }, at }: StartedRun, outcome: string): void {
    if (this.#awaited.size > 0) {
      this.#awaited.get(id)?.(outcome);
      this.#awaited.delete(id);
    }
    this.onFinished?.({ id, at, kind, ref, outcome });
  }
}
