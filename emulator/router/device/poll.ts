import type { FailureCode } from "../../../src/api/failures.ts";
import type { DeviceGrant } from "./rows.ts";

/** By how much an early poll makes the interval longer, in seconds (RFC 8628, 3.5). */
const slowDownBy = 5;

export interface Now {
  /** Virtual milliseconds. */
  readonly at: number;
  /** Wall milliseconds. */
  readonly wall_at: number;
}

/** What a poll comes to: an error, or the question to the cluster. `grant` is the row as it is to be kept. */
export type Polled =
  | {
      readonly kind: "refused";
      readonly code: Extract<
        FailureCode,
        "authorization-pending" | "slow-down" | "access-denied" | "expired-token" | "invalid-grant"
      >;
      readonly grant?: DeviceGrant;
    }
  | { readonly kind: "authorized"; readonly grant: DeviceGrant };

/**
 * Checks a poll in the order of DECISIONS.md, P2: unknown code, wrong client, expired, early, denied, pending,
 * authorized. Whoever polls while the cluster is being asked already is told to wait.
 */
export function checkPoll(grant: DeviceGrant | undefined, clientId: string, now: Now): Polled {
  if (!grant || grant.client_id !== clientId || grant.redeemed) return { kind: "refused", code: "invalid-grant" };
  if (grant.expires_at <= now.at) return { kind: "refused", code: "expired-token" };

  const polled = { ...grant, last_poll: { at: now.at, wall_at: now.wall_at } };
  if (isEarly(grant, now)) {
    return { kind: "refused", code: "slow-down", grant: { ...polled, interval: grant.interval + slowDownBy } };
  }
  if (grant.status === "DENIED") return { kind: "refused", code: "access-denied", grant: polled };
  if (grant.status === "PENDING" || grant.claimed) {
    return { kind: "refused", code: "authorization-pending", grant: polled };
  }
  return { kind: "authorized", grant: { ...polled, claimed: true } };
}

/**
 * Whether less than the interval has passed since the last poll, on the clock that went further: clients sleep in wall
 * time, while virtual time may stand still (DECISIONS.md, P3).
 */
function isEarly({ last_poll, interval }: DeviceGrant, { at, wall_at }: Now): boolean {
  if (!last_poll) return false;
  const elapsedMs = Math.max(at - last_poll.at, wall_at - last_poll.wall_at);
  const intervalMs = interval * 1_000;
  // Timers of clients fire a little early.
  return elapsedMs < intervalMs - Math.max(100, intervalMs * 0.05);
}
