import * as z from "zod";
import { type Clock, createSteadyClock, type WallClock } from "../../src/base/clock.ts";
import type { Cause } from "../store/cause.ts";
import { rows, type Store } from "../store/port.ts";
import { lastMoment, storedTime } from "../store/stored-time.ts";

/**
 * `real`: time passes, `speed` times as fast as by the wall clock. `manual`: it stands still until it is advanced.
 * `auto`: it stands still while entries run, else jumps to the next due entry of the schedule.
 */
export const ClockMode = z.enum(["real", "manual", "auto"]);
export type ClockMode = z.infer<typeof ClockMode>;

const ClockState = z.strictObject({
  mode: ClockMode,
  speed: z.number().positive(),
  /** How far virtual time was ahead of the wall clock when it was last set, in ms; 0 in the modes manual and auto. */
  offset: z.int(),
  /** The virtual time at which it was last set; in the modes manual and auto, the virtual time. */
  manual_now: storedTime(z.int()),
});
export type ClockState = z.infer<typeof ClockState>;

/** One row: the data of the clock for a restart. */
export const clockState = rows<ClockState>({ name: "clock", schema: ClockState, key: () => "clock", indexes: {} });

export interface ClockSettings {
  readonly mode?: ClockMode | undefined;
  readonly speed?: number | undefined;
}

interface ClockOptions extends ClockSettings {
  readonly now?: number | undefined;
  readonly keptAt?: number | undefined;
}

/** A change of the clock that is on its way to the disk, and what was before it. */
interface Unsure {
  before: { readonly state: ClockState; readonly latest: number };
}

/**
 * Virtual time. It never goes backwards, except with the state: a rewind sets it back, and a change that the disk
 * rejects is rolled back with its transaction.
 */
export class VirtualClock implements Clock {
  readonly #store: Store;
  readonly #wallNow: () => number;
  readonly #watchers = new Set<() => void>();
  readonly #moveWatchers = new Set<(from: number, to: number) => void>();
  #state: ClockState;
  #held = false;
  #movedBy: Cause | undefined;
  #latest: number;
  #written: Promise<unknown> = Promise.resolve();
  /** Oldest first. */
  readonly #unsure: Unsure[] = [];

  private constructor(store: Store, wallNow: () => number, state: ClockState) {
    this.#store = store;
    this.#wallNow = wallNow;
    this.#state = state;
    this.#latest = state.manual_now;
  }

  /**
   * Goes on where the stored clock was, or from `keptAt`, the time of a state that was stored then; without a stored
   * one begins at `now` (default: the wall's time).
   */
  static async open(store: Store, wall: WallClock, given: ClockOptions = {}) {
    const wallNow = createSteadyClock(wall);
    const begin = Math.floor(given.now ?? wallNow());
    const stored = await store.read((view) => view.get(clockState, "clock"));
    const { mode = "real", speed = 1 } = given;
    const fresh = { mode, speed, offset: aheadOf(wallNow(), mode, begin), manual_now: begin };
    const clock = new VirtualClock(store, wallNow, stored ?? fresh);
    if (stored && given.keptAt !== undefined) clock.replaceState(clock.stateAt(given.keptAt));
    await clock.set(given);
    return clock;
  }

  /** Milliseconds since the epoch, whole. */
  now(): number {
    if (!this.#flows) return this.#state.manual_now;
    // The wall may have been set back since the state was stored; virtual time then waits for it.
    this.#latest = Math.max(this.#latest, computeVirtualTime(this.#state, this.#wallNow()));
    return this.#latest;
  }

  get mode(): ClockMode {
    return this.#state.mode;
  }

  get speed(): number {
    return this.#state.speed;
  }

  /** Wall-clock milliseconds until virtual `due`; undefined while time stands still. */
  wallUntil(due: number): number | undefined {
    return this.#flows ? Math.max(0, Math.ceil((due - this.now()) / this.#state.speed)) : undefined;
  }

  /** Changes mode and speed; time continues from where it is. Resolves once that is durable. */
  async set(settings: ClockSettings, cause?: Cause): Promise<void> {
    const { mode = this.mode, speed = this.speed } = settings;
    const now = this.now();
    await this.#write({ mode, speed, offset: aheadOf(this.#wallNow(), mode, now), manual_now: now }, cause);
    for (const changed of this.#watchers) changed();
  }

  /** Sets the time to `ms` at once, never back. Resolves once that is durable, and only then is it published. */
  async jump(ms: number, cause?: Cause): Promise<void> {
    const from = this.now();
    const to = Math.max(ms, from);
    this.#movedBy = cause;
    await this.#write(this.#at(to), cause);
    this.#notifyJump(from, to);
  }

  /** Why it is as late as it is, while time is being moved; undefined if it passes by itself. */
  get movedBy(): Cause | undefined {
    return this.#movedBy;
  }

  /** Resolves once the last change of the clock until now is durable, or has failed, as the store then reports. */
  async durable(): Promise<void> {
    await this.#written;
  }

  /** Time stands still in any mode, while it is advanced step by step. Returns the time. */
  hold(): number {
    const now = this.now();
    this.#state = this.#at(now);
    this.#held = true;
    return now;
  }

  /** Time passes again, from where it is. */
  release(): void {
    this.#state = this.#at(this.now());
    this.#held = false;
    this.#movedBy = undefined;
    for (const changed of this.#watchers) changed();
  }

  /** Calls when mode or speed changed, or time passes again. Returns the function that ends it. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** Calls when time does not pass but moves, in virtual milliseconds. Returns the function that ends it. */
  watchMoves(moved: (from: number, to: number) => void): () => void {
    this.#moveWatchers.add(moved);
    return () => this.#moveWatchers.delete(moved);
  }

  /** The row of a clock that passes as another one does and is at `ms`; omitted: as this one does. */
  stateAt(ms: number, { mode, speed }: Pick<ClockState, "mode" | "speed"> = this.#state): ClockState {
    const begin = Math.floor(ms);
    return { mode, speed, offset: aheadOf(this.#wallNow(), mode, begin), manual_now: begin };
  }

  /** Continues as the clock of a state that replaces the present one. */
  replaceState(state: ClockState): void {
    const from = this.now();
    this.#state = state;
    this.#latest = state.manual_now;
    this.#movedBy = undefined;
    this.#written = Promise.resolve();
    this.#unsure.length = 0;
    this.#notifyJump(from, this.now());
    for (const changed of this.#watchers) changed();
  }

  /** Writes down the present time, so that a wall set back before the next start cannot set virtual time back. */
  close(): Promise<void> {
    return this.#write(this.#at(this.now()));
  }

  get #flows(): boolean {
    return this.#state.mode === "real" && !this.#held;
  }

  #notifyJump(from: number, to: number): void {
    if (from === to) return;
    for (const moved of this.#moveWatchers) moved(from, to);
  }

  #at(now: number): ClockState {
    return { ...this.#state, offset: aheadOf(this.#wallNow(), this.mode, now), manual_now: now };
  }

  #write(state: ClockState, cause?: Cause): Promise<void> {
    const unsure: Unsure = { before: { state: this.#state, latest: this.#latest } };
    this.#unsure.push(unsure);
    this.#state = state;
    this.#latest = state.manual_now;
    const written = this.#store
      .transaction("clock", (tx) => tx.put(clockState, state), cause)
      .then(
        () => void this.#unsure.splice(0, this.#unsure.indexOf(unsure) + 1),
        (refused) => {
          this.#undoWrite(unsure);
          throw refused;
        },
      );
    this.#written = written.catch(() => {});
    return written;
  }

  /** Later changes stay, unless they are rolled back, too. */
  #undoWrite(unsure: Unsure): void {
    const at = this.#unsure.indexOf(unsure);
    // Another state has taken the place of the one that it was of.
    if (at === -1) return;
    this.#unsure.splice(at, 1);
    const next = this.#unsure[at];
    if (next) {
      next.before = unsure.before;
      return;
    }
    this.#state = unsure.before.state;
    this.#latest = unsure.before.latest;
  }
}

/** The virtual time of a stored clock, while it is not advanced. */
export const computeVirtualTime = ({ mode, speed, offset, manual_now }: ClockState, wallNow: number): number =>
  mode === "real"
    ? Math.min(lastMoment, Math.floor(manual_now + (wallNow - (manual_now - offset)) * speed))
    : manual_now;

/** If time stands still the wall clock is irrelevant, and leaves no trace in the state. */
const aheadOf = (wallNow: number, mode: ClockMode, now: number): number =>
  mode === "real" ? now - Math.floor(wallNow) : 0;
