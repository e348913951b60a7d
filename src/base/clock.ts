import { onAbort } from "./concurrency.ts";

// Tests replace these globals while an emulator or a client runs in their process (fake timers, a fake Date, jsdom).
// The module therefore reads them once.
const timeOfDay = Date.now;
const monotonic = performance.now.bind(performance);
const startTimer = setTimeout;
const endTimer = clearTimeout;

/**
 * Virtual time of the emulated services, in milliseconds since the epoch. Every timestamp in a body, every expiry and
 * every retry uses virtual time.
 */
export interface Clock {
  now(): number;
}

/** How virtual time passes: by itself, by commands, or by jumps to the next due entry. */
export const clockModes = ["real", "manual", "auto"] as const;

/** Wall-clock time. Only code that receives this port can sleep. */
export interface WallClock {
  /**
   * Time of day in milliseconds since the epoch. An administrator can set the time back, so durations use
   * `monotonicNow`.
   */
  now(): number;
  /** Whole milliseconds since an arbitrary time in the past, for timeouts and durations. */
  monotonicNow(): number;
  /**
   * Resolves after `ms`, or immediately when `ms` is negative or the signal is aborted, and never rejects. With
   * `inBackground`, the timer does not keep the process alive.
   */
  sleep(ms: number, signal?: AbortSignal, options?: { readonly inBackground: boolean }): Promise<void>;
}

/** Node.js fires a longer timer immediately. */
const maxTimerMs = 2 ** 31 - 1;

export const systemWallClock: WallClock = {
  now: () => timeOfDay(),
  monotonicNow: () => Math.floor(monotonic()),
  sleep: (ms, signal, options) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = () => {
        endTimer(timer);
        stopWaiting?.();
        resolve();
      };
      // Node 22 and later warn of a negative time.
      const timer = startTimer(finish, Math.max(0, Math.min(ms, maxTimerMs)));
      if (options?.inBackground) timer.unref();
      const stopWaiting = signal && onAbort(signal, finish);
    }),
};

/** Calls a function after `ms` milliseconds of wall-clock time. The timer does not keep the process alive. */
export function runAfterDelay(ms: number, act: () => void): void {
  startTimer(act, ms).unref();
}

/**
 * Creates a clock that follows the time of day forward only. When the time of day is set back, the clock continues
 * steadily.
 */
export function createSteadyClock(wall: Pick<WallClock, "now" | "monotonicNow">): () => number {
  let at = wall.now();
  let readAt = wall.monotonicNow();
  return () => {
    const now = wall.monotonicNow();
    at = Math.max(wall.now(), at + (now - readAt));
    readAt = now;
    return at;
  };
}

/** Formats a time as ISO 8601 UTC with seconds, as the contract API does: `2031-05-07T09:10:11Z`. */
export const toIsoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Formats a time as ISO 8601 UTC with milliseconds, as the control plane does. */
export const toIsoMillis = (ms: number): string => new Date(ms).toISOString();

/** Formats a time as ISO 8601 UTC with microseconds, as webhook payloads do (DECISIONS.md, F21). */
export const toIsoMicros = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`;
