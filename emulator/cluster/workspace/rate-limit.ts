import type { Fail } from "../../../src/api/failures.ts";
import type { Wall } from "../../../src/base/clock.ts";

const windowMs = 1_000;

/**
 * Counts requests per workspace over the last second of wall time; `perSecond` 0 is no limit. Like the real
 * framework's throttle, a refused request does not count, and `retry-after` is when the oldest one leaves the window.
 */
export function rateLimit(perSecond: number, wall: Wall): (workspaceId: number, fail: Fail<"throttled">) => void {
  if (perSecond <= 0) return () => {};
  const served = new Map<number, number[]>();
  return (workspaceId, fail) => {
    const now = wall.monotonicNow();
    const recent = (served.get(workspaceId) ?? []).filter((at) => at > now - windowMs);
    served.set(workspaceId, recent);
    if (recent.length >= perSecond) fail("throttled", { seconds: Math.ceil((recent[0]! + windowMs - now) / 1_000) });
    recent.push(now);
  };
}
