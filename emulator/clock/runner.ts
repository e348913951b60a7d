import type { WallClock } from "../../src/base/clock.ts";
import { withTimeout } from "../../src/base/timing.ts";
import type { AdvanceResult } from "../published.d.ts";
import { createCauseRowFactory } from "../store/causes.ts";
import { type Cause, StateReplacedError, StoreFailedError } from "../store/port.ts";
import { type AdvanceLimits, type AdvanceTargetMs, advance, findFirstAfter, readQueueStatus } from "./advance.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { type ScheduledEntry, schedule } from "./schedule.ts";
import type { ClockSettings, ClockState } from "./virtual-clock.ts";

export interface RunnerOptions
  extends Pick<DispatcherOptions, "store" | "clock" | "handlers">,
    Partial<Pick<DispatcherOptions, "createCauseRow" | "onError">> {
  readonly wall: WallClock;
  /** On close, running entries are no longer awaited once this signal is aborted. */
  readonly closeSignal?: AbortSignal;
  /** How long running entries are awaited on close, in wall-clock milliseconds (default: 5 s). */
  readonly graceMs?: number | undefined;
  /** Runs one entry at a time, in the order of (due, id). */
  readonly deterministic?: boolean;
  readonly limits?: Partial<AdvanceLimits>;
  readonly onReplaceState?: () => void;
}

export class AdvanceUnderWayError extends Error {
  override readonly name = "AdvanceUnderWayError";

  constructor() {
    super("The clock is already being advanced. Wait until that advance has finished");
  }
}

/**
 * The limit for the whole emulator. With half as many, deliveries to a fast receiver miss their goal
 * (test/bench/webhooks.ts), because undici waits one turn of the event loop before it writes to an open connection.
 */
export const maxConcurrent = 64;
const defaultGraceMs = 5_000;
// One day, because longer timers overflow.
const maxSleepMs = 86_400_000;
/** Timers stop while the machine is suspended, but virtual time does not. */
const maxDueSleepMs = 2_000;

/** The only dispatcher of the schedule, in every mode (DECISIONS.md, E6). */
export class Runner {
  readonly #options: RunnerOptions;
  #dispatcher: Dispatcher;
  readonly #closing = new AbortController();
  readonly #unwatch: () => void;
  readonly #loop: Promise<void>;
  /** Aborted when the queue or the clock changes. */
  #change = new AbortController();
  #currentAdvance: Promise<unknown> | undefined;

  /** Starts with entries that became due while nothing ran. */
  constructor(options: RunnerOptions) {
    this.#options = options;
    const { store, clock } = options;
    this.#dispatcher = this.#createDispatcher();
    this.#unwatch = store.watch([schedule], (changes) => {
      // The time is not awaited, so the next entry is not needed.
      if (clock.mode === "manual" || this.#currentAdvance) return;
      // An outcome only removes an entry, so no entry becomes due.
      if (typeof changes === "string" || changes.some(({ after }) => after)) this.#wake();
    });
    clock.watch(() => this.#wake());
    this.#loop = this.#watchTime();
  }

  /** With a workspace, the queue contains only its entries. */
  readStatus(workspaceId?: number) {
    const { store, clock } = this.#options;
    return { now: clock.now(), mode: clock.mode, speed: clock.speed, ...readQueueStatus(store, workspaceId) };
  }

  async setClock(settings: ClockSettings, cause?: Cause) {
    if (this.#currentAdvance) throw new AdvanceUnderWayError();
    await this.#options.clock.set(settings, cause);
    return this.readStatus();
  }

  /** Advances the clock. Throws AdvanceUnderWayError, AdvanceTargetInPastError or AdvanceTargetTooFarError. */
  async advance(target: AdvanceTargetMs, cause?: Cause): Promise<AdvanceResult> {
    if (this.#currentAdvance) throw new AdvanceUnderWayError();
    const { clock, limits } = this.#options;
    const from = clock.hold();
    const result = advance(
      {
        ...this.#options,
        dispatcher: this.#dispatcher,
        limits: { entries: 10_000, wallMs: 120_000, ...limits },
        closing: this.#closing.signal,
      },
      from,
      target,
      cause,
    ).finally(() => {
      this.#currentAdvance = undefined;
      clock.release();
    });
    this.#currentAdvance = result.catch(() => {});
    return result;
  }

  waitUntilIdle(): Promise<void> {
    return this.#dispatcher.waitUntilIdle();
  }

  /**
   * Resolves with the outcome of an entry that the open transaction adds (see `Dispatcher.waitForOutcome`). Rejects
   * with StateReplacedError if the entry was dropped, because its number can belong to another entry of the next state.
   */
  waitForOutcome(id: number): Promise<string> {
    const outcome = this.#dispatcher.waitForOutcome(id).then((outcome) => {
      if (outcome === "dropped") throw new StateReplacedError("The entry was dropped while its state was replaced");
      return outcome;
    });
    // The transaction can fail, and then its caller does not wait.
    outcome.catch(() => {});
    return outcome;
  }

  /** Runs due entries of a cause before all others and waits for them (see `Dispatcher.prioritize`). */
  prioritize(cause: string, matchesKind: (kind: string) => boolean): Promise<void> {
    return this.#dispatcher.prioritize(cause, matchesKind);
  }

  /** Describes what a due entry of that kind does. Returns undefined if the run has the cause of its entry. */
  describeKind(kind: string): string | undefined {
    return this.#options.handlers[kind]?.action;
  }

  /** Restarts with another state, which running entries cannot change. An advance ends. Returns running entries. */
  replaceState(clock: ClockState): readonly ScheduledEntry[] {
    const runningEntries = this.#dispatcher.abandon();
    this.#options.onReplaceState?.();
    this.#options.clock.replaceState(clock);
    this.#dispatcher = this.#createDispatcher();
    if (this.#closing.signal.aborted) this.#dispatcher.startNoMore();
    return runningEntries;
  }

  async waitForAdvance(): Promise<void> {
    await this.#currentAdvance;
  }

  /** Starts no more entries. Resolves when the running ones have ended, or when the grace period ends. */
  async drain(): Promise<void> {
    this.#dispatcher.startNoMore();
    await this.#endWork();
  }

  /** Runs due entries until the grace period ends and leaves the rest in the queue. */
  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) await this.#endWork();
    await this.#dispatcher.stop();
    await Promise.all([this.#currentAdvance, this.#loop]);
    this.#unwatch();
    await this.#options.clock.close().catch(() => {}); // A disk that rejects writes must not keep the emulator from closing.
  }

  async #endWork(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    const { wall, closeSignal, graceMs = defaultGraceMs } = this.#options;
    await withTimeout(wall, graceMs, this.#dispatcher.waitUntilIdle(), closeSignal);
  }

  #createDispatcher(): Dispatcher {
    return new Dispatcher({
      createCauseRow: createCauseRowFactory(this.#options),
      onError: () => {},
      ...this.#options,
      maxConcurrent: this.#options.deterministic ? 1 : maxConcurrent,
    });
  }

  #wake(): void {
    // The reason is explicit, because the default reason is an exception with a stack.
    this.#change.abort("changed");
  }

  /** Finds the next entry after each change of the queue or the clock, and waits for it or advances to it. */
  async #watchTime(): Promise<void> {
    const { store, clock, wall } = this.#options;
    while (!this.#closing.signal.aborted) {
      this.#change = new AbortController();
      const { signal } = this.#change;
      this.#dispatcher.wake();
      const isTimeAwaited = clock.mode !== "manual" && !this.#currentAdvance;
      const next = isTimeAwaited ? findFirstAfter(store, clock.now()) : undefined;
      if (next && clock.mode === "auto") await this.#advanceToNext();
      else {
        const delay = next && clock.getWallDelay(next.due);
        await wall.sleep(delay === undefined ? maxSleepMs : Math.min(delay, maxDueSleepMs), signal);
      }
    }
  }

  async #advanceToNext(): Promise<void> {
    const { store, clock, wall } = this.#options;
    const dispatcher = this.#dispatcher;
    await dispatcher.waitUntilIdle();
    // The queue is read again, because entries that ran meanwhile may have added an earlier entry.
    const next = findFirstAfter(store, clock.now());
    const isEnding = this.#closing.signal.aborted || dispatcher.stopSignal.aborted;
    if (!next || clock.mode !== "auto" || this.#currentAdvance || isEnding) return;
    try {
      await clock.jump(next.due);
    } catch (error) {
      // The store notifies the runner when writing works again.
      if (error instanceof StoreFailedError) await wall.sleep(maxSleepMs, this.#change.signal);
      else if (!(error instanceof StateReplacedError)) throw error;
    }
  }
}
