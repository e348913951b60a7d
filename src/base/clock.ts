import { onAbort } from "./on-abort.ts";

// Tests replace these globals (fake timers, a fake Date, a browser's environment) while an emulator or a client runs in
// their process, so they are read once.
const timeOfDay = Date.now;
const monotonic = performance.now.bind(performance);
const startTimer = setTimeout;
const endTimer = clearTimeout;

/**
 * Virtual time, for the emulated services. Every timestamp in a body, every expiry and every retry uses it.
 * Milliseconds since the epoch.
 */
export interface Clock {
  now(): number;
}

/** Wall-clock time. Only code with this port may sleep. */
export interface WallClock {
  /** The time of day in milliseconds since the epoch. It may be set back, so it does not measure durations. */
  now(): number;
  /** Whole milliseconds since an arbitrary time in the past, for timeouts and durations. */
  monotonicNow(): number;
  /**
   * Resolves after `ms`, or at once when the signal is aborted; it never rejects. `inBackground`: the timer does not
   * keep the process alive.
   */
  sleep(ms: number, signal?: AbortSignal, how?: { readonly inBackground: boolean }): Promise<void>;
}

/** Node.js fires a longer timer at once. */
const maxTimerMs = 2 ** 31 - 1;

export const systemWallClock: WallClock = {
  now: () => timeOfDay(),
  monotonicNow: () => Math.floor(monotonic()),
  sleep: (ms, signal, how) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        endTimer(timer);
        stopWaiting?.();
        resolve();
      };
      const timer = startTimer(done, Math.min(ms, maxTimerMs));
      if (how?.inBackground) timer.unref();
      const stopWaiting = signal && onAbort(signal, done);
    }),
};

/**
 * Calls a function after this many milliseconds of wall-clock time, unless the process has exited. It does not keep the
 * process alive.
 */
export function runAfterDelay(ms: number, act: () => void): void {
  startTimer(act, ms).unref();
}

/**
 * A clock that follows the time of day: it moves forward when the time is set forward, and continues steadily when it
 * is set back.
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

/** ISO 8601 UTC with seconds, the format of the contract API: `2031-05-07T09:10:11Z`. */
export const toIsoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** ISO 8601 UTC with milliseconds, the format of the control plane. */
export const toIsoMillis = (ms: number): string => new Date(ms).toISOString();

/** ISO 8601 UTC with microseconds, the format of webhook payloads (DECISIONS.md, F21). */
export const toIsoMicros = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`;
