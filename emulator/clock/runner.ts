import type { WallClock } from "../../src/base/clock.ts";
import type { AdvanceResult } from "../published.d.ts";
import type { Cause } from "../store/cause.ts";
import { createCauseRowFactory } from "../store/causes.ts";
import { StateReplacedError, StoreFailedError } from "../store/port.ts";
import { type AdvanceLimits, type AdvanceTargetMs, advance, findFirstAfter, readQueueStatus } from "./advance.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { type ScheduledEntry, schedule } from "./schedule.ts";
import type { ClockMode, ClockSettings, ClockState } from "./virtual-clock.ts";

export interface RunnerOptions
  extends Pick<DispatcherOptions, "store" | "clock" | "handlers">,
    Partial<Pick<DispatcherOptions, "causeRow" | "onError">> {
  readonly wall: WallClock;
  /** On close: once this is aborted, running entries are no longer awaited. */
  readonly closeSignal?: AbortSignal;
  /** On close: how long running entries are awaited, wall-clock time; default: 5 s. */
  readonly graceMs?: number | undefined;
  /** One entry at a time, in order of (due, id). */
  readonly deterministic?: boolean;
  readonly caps?: Partial<AdvanceLimits>;
  /** Called at the moment at which another state replaces the present one. */
  readonly onTakeOver?: () => void;
}

export interface ClockStatus {
  readonly now: number;
  readonly mode: ClockMode;
  readonly speed: number;
  readonly next_due: number | null;
  readonly pending: number;
}

/** Another caller advances the clock just now. */
export class AdvanceUnderWayError extends Error {
  override readonly name = "AdvanceUnderWayError";
}

/**
 * Over the whole emulator. With half as many, deliveries to a fast receiver miss their goal (test/bench/webhooks.ts):
 * undici lets an open connection pass one turn of the event loop before it writes, so that half of the running
 * deliveries have not reached their receiver yet.
 */
export const maxConcurrent = 64;
const closingMs = 5_000;
// One day: longer timers overflow, and one check a day costs nothing.
const maxSleepMs = 86_400_000;

/** The one dispatcher of the schedule, in every mode (DECISIONS.md, E6). */
export class Runner {
  readonly #options: RunnerOptions;
  #dispatcher: Dispatcher;
  readonly #closing = new AbortController();
  readonly #unwatch: readonly (() => void)[];
  readonly #loop: Promise<void>;
  #changed = false;
  #wakeUp: (() => void) | undefined;
  #advancing: Promise<unknown> | undefined;

  private constructor(options: RunnerOptions) {
    this.#options = options;
    const { store, clock } = options;
    this.#dispatcher = this.#newDispatcher();
    this.#unwatch = [
      store.watch(schedule, (onlyDeleted) => {
        // Each outcome removes an entry: no entry comes due by that.
        if (onlyDeleted) return;
        this.#dispatcher.wake();
        // The time is not awaited: there is no need to find the next entry.
        if (clock.mode !== "manual" && !this.#advancing) this.#ring();
      }),
      clock.watch(() => this.#ring()),
    ];
    this.#loop = this.#watchTime();
  }

  /** Begins with what became due while nothing ran. */
  static start(options: RunnerOptions): Runner {
    return new Runner(options);
  }

  async status(): Promise<ClockStatus> {
    const { store, clock } = this.#options;
    return { now: clock.now(), mode: clock.mode, speed: clock.speed, ...(await readQueueStatus(store)) };
  }

  /** Changes mode or speed. Throws AdvanceUnderWayError while time is being moved. */
  async setClock(settings: ClockSettings, cause?: Cause): Promise<ClockStatus> {
    if (this.#advancing) throw new AdvanceUnderWayError();
    await this.#options.clock.set(settings, cause);
    return this.status();
  }

  /** Moves time (see `advance`), one call at a time. Throws AdvanceUnderWayError, AdvanceTargetInPastError or AdvanceTargetTooFarError. */
  async advance(target: AdvanceTargetMs, cause?: Cause): Promise<AdvanceResult> {
    if (this.#advancing) throw new AdvanceUnderWayError();
    const { clock, caps } = this.#options;
    const from = clock.hold();
    const moving = advance(
      {
        ...this.#options,
        dispatcher: this.#dispatcher,
        caps: { entries: 10_000, wallMs: 120_000, ...caps },
        closing: this.#closing.signal,
      },
      from,
      target,
      cause,
    ).finally(() => {
      this.#advancing = undefined;
      clock.release();
    });
    this.#advancing = moving.catch(() => {});
    return moving;
  }

  /** Resolves when nothing runs and nothing is due at the present time. */
  whenIdle(): Promise<void> {
    return this.#dispatcher.whenIdle();
  }

  /** The outcome of an entry that the open transaction adds (see `Dispatcher.waitForOutcome`). */
  waitForOutcome(id: number): Promise<string> {
    return this.#dispatcher.waitForOutcome(id);
  }

  /** Begins due entries of a cause before all else, and waits for them (see `Dispatcher.prioritize`). */
  prioritize(cause: string, isMeant: (kind: string) => boolean): Promise<void> {
    return this.#dispatcher.prioritize(cause, isMeant);
  }

  /** Describes the action of a due entry of that kind in a few words; undefined if it continues with its cause. */
  describeKind(kind: string): string | undefined {
    return this.#options.handlers[kind]?.does;
  }

  /**
   * Begins again, at the moment at which another state replaces the present one: running entries do not reach it, and
   * the clock is no longer advanced. Returns the running entries.
   */
  replaceState(clock: ClockState): readonly ScheduledEntry[] {
    const underWay = this.#dispatcher.abandon();
    this.#options.onTakeOver?.();
    this.#options.clock.replaceState(clock);
    this.#dispatcher = this.#newDispatcher();
    return underWay;
  }

  /** Resolves once the clock is no longer being advanced. */
  async whenAdvanceEnds(): Promise<void> {
    await this.#advancing;
  }

  /** Runs due entries for as long as its grace lasts and leaves the rest in the queue. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#ring();
    const enough = new AbortController();
    const idle = this.#dispatcher.whenIdle().then(() => enough.abort());
    const { wall, closeSignal, graceMs = closingMs } = this.#options;
    const waited = AbortSignal.any([enough.signal, ...(closeSignal ? [closeSignal] : [])]);
    await Promise.race([idle, wall.sleep(graceMs, waited)]);
    await this.#dispatcher.stop();
    await Promise.all([this.#advancing, this.#loop]);
    for (const unwatch of this.#unwatch) unwatch();
    await this.#options.clock.close().catch(() => {}); // A disk that rejects writes must not prevent the emulator from ending.
  }

  #newDispatcher(): Dispatcher {
    return new Dispatcher({
      causeRow: createCauseRowFactory(this.#options),
      onError: () => {},
      ...this.#options,
      maxConcurrent: this.#options.deterministic ? 1 : maxConcurrent,
    });
  }

  #ring(): void {
    this.#changed = true;
    this.#wakeUp?.();
  }

  /** Finds the next entry after each change of the queue or the clock, and waits for it or advances to it. */
  async #watchTime(): Promise<void> {
    const { store, clock } = this.#options;
    while (!this.#closing.signal.aborted) {
      this.#changed = false;
      this.#dispatcher.wake();
      const next = clock.mode === "manual" || this.#advancing ? undefined : await findFirstAfter(store, clock.now());
      if (next && clock.mode === "auto") {
        if (await this.#leap()) await this.#rest(undefined);
      } else await this.#rest(next && clock.wallUntil(next.due));
    }
  }

  /** Until the next change; at most for `ms` of wall-clock time, when given. */
  async #rest(ms: number | undefined): Promise<void> {
    if (this.#changed) return;
    if (ms === undefined) {
      await new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
    } else {
      const change = new AbortController();
      // A reason of our own: the default one is an exception with a stack, made again each time.
      this.#wakeUp = () => change.abort("changed");
      await this.#options.wall.sleep(Math.min(ms, maxSleepMs), change.signal);
    }
    this.#wakeUp = undefined;
  }

  /** Mode auto: to the next due entry, once nothing runs. Says whether the disk rejected that. */
  async #leap(): Promise<boolean> {
    const { store, clock } = this.#options;
    let refused = false;
    const dispatcher = this.#dispatcher;
    await dispatcher.whenIdle();
    // Read again: entries that ran until now may have added an earlier one to the queue.
    const next = await findFirstAfter(store, clock.now());
    if (!next || clock.mode !== "auto" || this.#advancing || dispatcher.stopped.aborted) return false;
    await clock.jump(next.due).catch((error) => {
      // The store rings when writing works again.
      if (!(error instanceof StateReplacedError || error instanceof StoreFailedError)) throw error;
      refused = error instanceof StoreFailedError;
    });
    return refused;
  }
}
