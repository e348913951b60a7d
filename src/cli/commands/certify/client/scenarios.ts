import { lookupTable } from "../../../../base/object.ts";

/**
 * How one poll is answered. `approve`, `deny` and `expire` happen at the emulator just before it answers; the others are
 * played instead of it. `lost`: the response breaks off halfway.
 */
export type Step = "pending" | "slow_down" | "reset" | "html-503" | "lost" | "approve" | "deny" | "expire";

/** The server's interval, seconds: the minimum of RFC 8628, so that a run is short. */
export const intervalSeconds = 1;
/** RFC 8628, 3.5: added at each slow_down, for good. */
export const slowDownSeconds = 5;

const pending = "pending";

/** Each is one run of the client, with the answers to its polls in order. The last one ends the sign-in. */
export const scenarios = lookupTable<readonly Step[]>({
  approval: [pending, pending, pending, "approve"],
  "slow-down": [pending, "slow_down", pending, "slow_down", "approve"],
  expired: [pending, "expire"],
  denied: [pending, "deny"],
  reset: [pending, "reset", "approve"],
  "html-503": [pending, "html-503", "approve"],
  "lost-answer": [pending, "lost", "approve"],
});
