import { setMaxListeners } from "node:events";
import type { Store } from "../store/port.ts";
import { Admission } from "./admission.ts";
import { Committer } from "./committer.ts";
import type { Commit, JobHandlers, Run } from "./job-handler.ts";
import { Preparer } from "./preparer.ts";
import { type Entry, endOf, schedule, turnOf } from "./schedule.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** An entry that was run: the virtual time at which it started, and what came of it. */
export interface Ran {
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly ref: string;
  readonly outcome: string;
}

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly kinds: JobHandlers;
  /** How many entries may be under way over the whole emulator. */
  readonly atOnce: number;
  /** Told when the work of an entry threw: it stays in the queue and is left alone until the next start. */
  readonly onTrouble: (entry: Entry, error: unknown) => void;
}

interface StartedRun {
  readonly entry: Entry;
  /** Virtual time. */
  readonly at: number;
  /** Until its outcome is in the state. */
  holdsPlace: boolean;
}

interface FinishedRun extends StartedRun {
  readonly record: Commit;
}

const listedAtOnce = 1_000;
/** Of this share of the places only lanes that hold none yet may take one: hanging receivers leave room for others. */
const keptFree = 1 / 4;
/** So many times the places may be begun and not yet on the disk: after a crash they are done again. */
const unsureShare = 4;
const isBefore = (a: Entry, b: Entry): boolean => a.due < b.due || (a.due === b.due && a.id < b.id);

/**
 * Runs what is due at the present virtual time, in order of (due, id), within the limits. It moves no time.
 *
 * An entry is **due** when its time has come; **admitted** when its concurrency key (the stored field `lane`, which keeps
 * its name in states that are written) has capacity for it; **prepared** when its job handler has read what it needs, in
 * one view with others; **running** while its work is done outside the state; **committed** when a transaction has
 * recorded the outcome, and taken it from the queue or moved it to a later time; **durable** when that is on the disk.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #lanes: Admission;
  /** Ids of entries that are ready, waiting in their lane, under way, or in trouble. */
  readonly #taken = new Set<number>();
  readonly #stop = new AbortController();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #awaited = new Map<number, (outcome: string) => void>();
  readonly #ready: Entry[] = [];
  readonly #preparer: Preparer;
  readonly #recorder: Committer<FinishedRun>;
  /** Begun, and not yet durably recorded. */
  #underWay = 0;
  /** Of these, how many hold a place: until their outcome is in the state. */
  #running = 0;
  /** How many entries of a lane are under way. */
  readonly #runningIn = new Map<string, number>();
  readonly #troubled = new Set<number>();
  #mayHaveMore = true;
  #listing = false;
  /** Turn of the last entry taken from the queue. */
  #reached = "";
  /** Told of each entry that was run. */
  onRan: ((ran: Ran) => void) | undefined;

  constructor(options: DispatcherOptions) {
    const { store, kinds } = options;
    this.#options = options;
    this.#lanes = new Admission(store, kinds, (through) => {
      for (const entry of through) this.#ready.splice(this.#placeOf(entry), 0, entry);
      // The listing pumps at its end, when all that is due stands in order.
      if (!this.#listing) this.#pump();
    });
    this.#preparer = new Preparer(store, kinds, (entry, work) => void this.#run(entry, work));
    this.#recorder = new Committer(store, this.#stop.signal, {
      inState: (batch) => this.#leave(batch),
      durable: (batch, outcomes) => this.#ended(batch, outcomes),
      failed: (run, cause) => this.#inTrouble(run, cause),
    });
    // Every entry under way may listen.
    setMaxListeners(0, this.#stop.signal);
  }

  /** The queue or the time has changed. */
  wake(): void {
    this.#mayHaveMore = true;
    this.#pump();
  }

  /** Resolves when nothing is under way and nothing is due. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.wake();
    });
  }

  /**
   * The outcome of the next run of an entry, in a word; `closing` when the emulator ends before. To be asked for in
   * the transaction that adds the entry, so that it cannot have run before.
   */
  outcomeOf(id: number): Promise<string> {
    return new Promise((resolve) => this.#awaited.set(id, resolve));
  }

  /** Gives the entries that were in trouble another chance: the state was put in as a whole. */
  forgive(): void {
    for (const id of this.#troubled) this.#taken.delete(id);
    this.#troubled.clear();
    this.wake();
  }

  /** Starts nothing more, breaks off what is under way without recording it, and resolves when all has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.idle();
    for (const tell of this.#awaited.values()) tell("closing");
  }

  #pump(): void {
    const stopped = this.#stop.signal.aborted;
    while (!stopped && this.#hasRoom) {
      const next = this.#nextReady();
      if (next < 0) break;
      // Shifting costs nothing however long the list is; cutting the first one out moves all the others.
      this.#begin(next === 0 ? this.#ready.shift()! : this.#ready.splice(next, 1)[0]!);
    }
    // The queue is looked at only when something could be started, not after each of its changes.
    if (!stopped && this.#mayHaveMore && this.#hasRoom) return void this.#list();
    if (this.#underWay > 0 || this.#listing) return;
    if (stopped || this.#taken.size === this.#troubled.size)
      for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  get #hasRoom(): boolean {
    const { atOnce } = this.#options;
    return this.#running < atOnce && this.#underWay < atOnce * unsureShare;
  }

  /**
   * Which of the ready entries may start: the first, while there is plenty of room; then the first of a lane that has
   * nothing under way. No more than `atOnce` lanes are busy, each with few entries, so that the search is short.
   */
  #nextReady(): number {
    const { atOnce } = this.#options;
    if (this.#running < atOnce - Math.floor(atOnce * keptFree)) return this.#ready.length > 0 ? 0 : -1;
    return this.#ready.findIndex(({ lane }) => !this.#runningIn.has(lane));
  }

  #count(lane: string, change: 1 | -1): void {
    const count = (this.#runningIn.get(lane) ?? 0) + change;
    if (count === 0) this.#runningIn.delete(lane);
    else this.#runningIn.set(lane, count);
  }

  async #list(): Promise<void> {
    if (this.#listing) return;
    this.#listing = true;
    this.#mayHaveMore = false;
    // With a long backlog only what comes behind it is listed; what was put before it is found when it has shrunk.
    const short = this.#taken.size < listedAtOnce;
    const limit = listedAtOnce + (short ? this.#taken.size : 0);
    const fresh: Entry[] = [];
    const { store, clock } = this.#options;
    try {
      await store.read(async (view) => {
        const slice = { by: "turn", to: endOf(clock.now()), limit } as const;
        const found = await view.list(schedule, short ? slice : { ...slice, from: this.#reached });
        // Still inside, so that no entry can leave the queue between being listed and being taken.
        for (const entry of found) if (!this.#taken.has(entry.id)) fresh.push(entry);
        for (const entry of fresh) this.#taken.add(entry.id);
        if (found.length === limit) this.#mayHaveMore = true;
      });
      // Nothing is begun before what was listed is durable, and the time that it is: what is sent no crash takes back.
      await Promise.all([store.durable(), clock.durable()]);
      for (const entry of fresh) this.#take(entry);
      const last = fresh.at(-1);
      if (last) this.#reached = turnOf(last.due, last.id);
    } catch {
      // The disk refuses, or the store is closed: nothing could be recorded any more, so nothing is begun.
      for (const { id } of fresh) this.#taken.delete(id);
    } finally {
      this.#listing = false;
      this.#pump();
    }
  }

  #take(entry: Entry): void {
    // One at a time needs no lanes: order over all of them is by (due, id) alone.
    if (this.#options.atOnce === 1 || this.#lanes.offer(entry)) this.#ready.push(entry);
  }

  /** Where an entry belongs among those that are ready. */
  #placeOf(entry: Entry): number {
    let low = 0;
    let high = this.#ready.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#ready[middle]!, entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #begin(entry: Entry): void {
    this.#underWay += 1;
    this.#running += 1;
    this.#count(entry.lane, 1);
    this.#preparer.add(entry);
  }

  async #run(entry: Entry, work: Run): Promise<void> {
    const at = this.#options.clock.now();
    try {
      this.#recorder.add({ entry, at, holdsPlace: true, record: await work(this.#stop.signal) });
    } catch (error) {
      this.#inTrouble({ entry, at, holdsPlace: true }, error);
    }
  }

  #leave(batch: readonly StartedRun[]): void {
    for (const run of batch) {
      if (!run.holdsPlace) continue;
      run.holdsPlace = false;
      this.#running -= 1;
      this.#count(run.entry.lane, -1);
      this.#lanes.finished(run.entry);
    }
    this.#pump();
  }

  #ended(batch: readonly FinishedRun[], outcomes: readonly string[]): void {
    for (const [i, run] of batch.entries()) {
      this.#taken.delete(run.entry.id);
      this.#tell(run, outcomes[i]!);
    }
    this.#underWay -= batch.length;
    this.wake();
  }

  #inTrouble(run: StartedRun, error: unknown): void {
    this.#troubled.add(run.entry.id);
    if (!this.#stop.signal.aborted) this.#options.onTrouble(run.entry, error);
    this.#tell(run, "error");
    this.#leave([run]);
    this.#underWay -= 1;
    this.wake();
  }

  #tell({ entry: { id, kind, ref }, at }: StartedRun, outcome: string): void {
    this.#awaited.get(id)?.(outcome);
    this.#awaited.delete(id);
    this.onRan?.({ id, at, kind, ref, outcome });
  }
}
