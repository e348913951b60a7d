import type { WallClock } from "../../../../src/base/clock.ts";

/** An event that happens once. */
export function createSignal(): { readonly signaled: Promise<void>; raise(): void } {
  let raise = () => {};
  const signaled = new Promise<void>((resolve) => {
    raise = resolve;
  });
  return { signaled, raise };
}

/** Wall-clock time that only a test advances. */
export function createManualWall(): WallClock & { move(ms: number): void } {
  let now = 0;
  let sleepers: { until: number; wake: () => void }[] = [];
  return {
    now: () => now,
    monotonicNow: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ until: now + ms, wake })),
    move(ms) {
      now += ms;
      for (const { wake } of sleepers.filter(({ until }) => until <= now)) wake();
      sleepers = sleepers.filter(({ until }) => until > now);
    },
  };
}
