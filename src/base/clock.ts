import { onAbort } from "./on-abort.ts";

/**
 * Virtual time: what the emulated services believe the time to be. Every timestamp in a body, every expiry and
 * every retry goes by it. Milliseconds since the epoch.
 */
export interface Clock {
  now(): number;
}

/** Wall time: timeouts, client retries, polling and spinners. The only port through which code may sleep. */
export interface Wall {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Resolves after `ms`, or at once (without rejecting) when the signal is aborted. `inBackground`: what sleeps so keeps
   * no process going that has nothing else to do.
   */
  sleep(ms: number, signal?: AbortSignal, how?: { readonly inBackground: boolean }): Promise<void>;
}

/** Node ends a longer timer at once. */
const maxTimerMs = 2 ** 31 - 1;

export const systemWall: Wall = {
  now: () => Date.now(),
  sleep: (ms, signal, how) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        stopWaiting?.();
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, maxTimerMs));
      if (how?.inBackground) timer.unref();
      const stopWaiting = signal && onAbort(signal, done);
    }),
};

/** ISO 8601 UTC with seconds, as the contract API prints times: `2031-05-07T09:10:11Z`. */
export const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** ISO 8601 UTC with milliseconds, as the control plane prints times. */
export const isoMillis = (ms: number): string => new Date(ms).toISOString();

/** ISO 8601 UTC with microseconds, as webhook payloads print times (DECISIONS.md, F21). */
export const isoMicros = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`;
