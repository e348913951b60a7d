import * as z from "zod";
import { type Clock, clockModes, createSteadyClock, type WallClock } from "../../src/base/clock.ts";
import { Emitter } from "../../src/base/concurrency.ts";
import { type Cause, defineRows, lastTimestampMs, type Store, storedTime } from "../store/port.ts";

/**
 * `real`: time passes, `speed` times as fast as the wall clock. `manual`: time stops until it is advanced.
 * `auto`: time stops while entries run, then jumps to the next due entry.
 */
const ClockMode = z.enum(clockModes);
type ClockMode = z.infer<typeof ClockMode>;

const ClockState = z.strictObject({
  mode: ClockMode,
  speed: z.number().positive(),
  /** How far virtual time was ahead of the wall clock when it was last set, in ms; 0 in the modes manual and auto. */
  offset: z.int(),
  /** The virtual time at which the clock was last set. In the modes manual and auto it is the virtual time. */
  manual_now: storedTime(z.int()),
});
export type ClockState = z.infer<typeof ClockState>;

/** One row with the data of the clock for a restart. */
export const clockState = defineRows({ name: "clock", schema: ClockState, key: () => "clock" });

export interface ClockSettings {
  readonly mode?: ClockMode | undefined;
  readonly speed?: number | undefined;
}

interface ClockOptions extends ClockSettings {
  readonly now?: number | undefined;
  readonly storedAt?: number | undefined;
  /** When the state was last changed. After a crash, the stored clock does not include it. */
  readonly changedAt?: number | undefined;
}

interface PendingChange {
  previous: { readonly state: ClockState; readonly latest: number };
}

/**
 * Virtual time. It never goes backwards while the emulator runs: only a rewind sets it back, and a change that the disk
 * rejects is rolled back with its transaction. A start continues from the stored time at the earliest.
 */
export class VirtualClock implements Clock {
  readonly #store: Store;
  readonly #wallNow: () => number;
  readonly #changes = new Emitter();
  readonly #jumps = new Emitter<[from: number, to: number]>();
  /** Calls the listener when mode or speed has changed, or when time passes again. Returns a function to remove it. */
  readonly watch = this.#changes.watch;
  /** Calls the listener when time jumps, with virtual milliseconds. Returns a function that removes the listener. */
  readonly watchJumps = this.#jumps.watch;
  #state: ClockState;
  #isHeld = false;
  #movedBy: Cause | undefined;
  #latest: number;
  #lastWrite: Promise<unknown> = Promise.resolve();
  readonly #pendingChanges: PendingChange[] = [];

  private constructor(store: Store, wallNow: () => number, state: ClockState) {
    this.#store = store;
    this.#wallNow = wallNow;
    this.#state = state;
    this.#latest = state.manual_now;
  }

  /** Continues from the stored clock or `storedAt`, or starts at `now` (default: the wall-clock time). */
  static async open(store: Store, wall: WallClock, options: ClockOptions = {}) {
    const wallNow = createSteadyClock(wall);
    const begin = Math.floor(options.now ?? wallNow());
    const storedState = store.get(clockState, "clock");
    const { mode = "real", speed = 1 } = options;
    const initialState = { mode, speed, offset: getOffset(wallNow(), mode, begin), manual_now: begin };
    const clock = new VirtualClock(store, wallNow, storedState ?? initialState);
    if (storedState && options.storedAt !== undefined) clock.replaceState(clock.createStateAt(options.storedAt));
    clock.#latest = Math.max(clock.#latest, options.changedAt ?? 0);
    await clock.#set({ mode: options.mode ?? clock.mode, speed: options.speed ?? clock.speed });
    return clock;
  }

  /** Milliseconds since the epoch, as an integer. */
  now(): number {
    if (!this.#isFlowing) return this.#state.manual_now;
    // At a start, the wall clock can be earlier than when the state was stored.
    this.#latest = Math.max(this.#latest, computeVirtualTime(this.#state, this.#wallNow()));
    return this.#latest;
  }

  get mode(): ClockMode {
    return this.#state.mode;
  }

  get speed(): number {
    return this.#state.speed;
  }

  /** Wall-clock milliseconds until virtual `due`. Undefined while time is stopped. */
  getWallDelay(due: number): number | undefined {
    return this.#isFlowing ? Math.max(0, Math.ceil((due - this.now()) / this.#state.speed)) : undefined;
  }

  /**
   * Changes mode and speed; time continues from its present value. Resolves when the change is durable. Settings that
   * change nothing write nothing, so that they are no step of the history (DECISIONS.md, E15).
   */
  async set(settings: ClockSettings, cause?: Cause): Promise<void> {
    const { mode = this.mode, speed = this.speed } = settings;
    // A change that is being written can still be rolled back.
    if (mode === this.mode && speed === this.speed && this.#pendingChanges.length === 0) return;
    await this.#set({ mode, speed }, cause);
  }

  async #set({ mode, speed }: Pick<ClockState, "mode" | "speed">, cause?: Cause): Promise<void> {
    const now = this.now();
    await this.#write({ mode, speed, offset: getOffset(this.#wallNow(), mode, now), manual_now: now }, cause);
    this.#changes.emit();
  }

  /** Sets the time to `ms`, never back. Resolves when the change is durable. The new time is published only then. */
  async jump(ms: number, cause?: Cause): Promise<void> {
    const from = this.now();
    const to = Math.max(ms, from);
    this.#movedBy = cause;
    await this.#write(this.#withTime(to), cause);
    this.#notifyJump(from, to);
  }

  /** The cause of the advance that is under way. Undefined if time passes by itself. */
  get movedBy(): Cause | undefined {
    return this.#movedBy;
  }

  /** Resolves when all changes of the clock so far are durable or have failed. The store reports failures. */
  async waitUntilDurable(): Promise<void> {
    await this.#lastWrite;
  }

  /** Stops time in any mode for an advance. Returns the present time. */
  hold(): number {
    const now = this.now();
    this.#state = this.#withTime(now);
    this.#isHeld = true;
    return now;
  }

  /** Lets time pass again from its present value. */
  release(): void {
    this.#state = this.#withTime(this.now());
    this.#isHeld = false;
    this.#movedBy = undefined;
    this.#changes.emit();
  }

  /** Creates the row of a clock at `ms` that passes as another clock does, by default as this one does. */
  createStateAt(ms: number, { mode, speed }: Pick<ClockState, "mode" | "speed"> = this.#state): ClockState {
    const begin = Math.floor(ms);
    return { mode, speed, offset: getOffset(this.#wallNow(), mode, begin), manual_now: begin };
  }

  /** Continues as the clock of a state that replaces the present one. */
  replaceState(state: ClockState): void {
    // A change that is being written was not published, and never will be.
    const from = this.#pendingChanges[0]?.previous.latest ?? this.now();
    this.#state = state;
    this.#latest = state.manual_now;
    this.#movedBy = undefined;
    this.#lastWrite = Promise.resolve();
    this.#pendingChanges.length = 0;
    this.#notifyJump(from, this.now());
    this.#changes.emit();
  }

  /** Stores the present time, because the wall clock may be set back before the next start. */
  close(): Promise<void> {
    return this.#write(this.#withTime(this.now()));
  }

  get #isFlowing(): boolean {
    return this.#state.mode === "real" && !this.#isHeld;
  }

  #notifyJump(from: number, to: number): void {
    if (from !== to) this.#jumps.emit(from, to);
  }

  #withTime(now: number): ClockState {
    return { ...this.#state, offset: getOffset(this.#wallNow(), this.mode, now), manual_now: now };
  }

  #write(state: ClockState, cause?: Cause): Promise<void> {
    const change: PendingChange = { previous: { state: this.#state, latest: this.#latest } };
    this.#pendingChanges.push(change);
    this.#state = state;
    this.#latest = state.manual_now;
    const write = this.#store
      .transaction("clock", (tx) => tx.put(clockState, state), cause)
      .then(
        () => void this.#pendingChanges.splice(0, this.#pendingChanges.indexOf(change) + 1),
        (error) => {
          this.#undoWrite(change);
          throw error;
        },
      );
    this.#lastWrite = write.catch(() => {});
    return write;
  }

  /** Later changes stay unless they are rolled back too. */
  #undoWrite(change: PendingChange): void {
    const index = this.#pendingChanges.indexOf(change);
    // Another state has replaced the state of this change.
    if (index === -1) return;
    this.#pendingChanges.splice(index, 1);
    const nextChange = this.#pendingChanges[index];
    if (nextChange) {
      nextChange.previous = change.previous;
      return;
    }
    this.#state = change.previous.state;
    this.#latest = change.previous.latest;
  }
}

/** The virtual time of a stored clock that is not being advanced. */
const computeVirtualTime = ({ mode, speed, offset, manual_now }: ClockState, wallNow: number): number =>
  mode === "real"
    ? Math.min(lastTimestampMs, Math.floor(manual_now + (wallNow - (manual_now - offset)) * speed))
    : manual_now;

/** While time is stopped, the wall clock is irrelevant and leaves no trace in the state. */
const getOffset = (wallNow: number, mode: ClockMode, now: number): number =>
  mode === "real" ? now - Math.floor(wallNow) : 0;
