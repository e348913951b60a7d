import { lookupTable } from "../../../../base/object.ts";

/**
 * The response to one poll. `approve`, `deny` and `expire` happen in the emulator just before it responds; the others
 * replace its response. `lost` breaks off halfway.
 */
export type Step = "pending" | "slow_down" | "reset" | "html-503" | "lost" | "approve" | "deny" | "expire";

/** The server's interval in seconds: the minimum of RFC 8628, to keep runs short. */
export const intervalSeconds = 1;
/** RFC 8628, 3.5: each slow_down adds this permanently. */
export const slowDownSeconds = 5;

const pending = "pending";

/** Each scenario is one run of the client, with the responses to its polls in order. The last one ends the sign-in. */
export const scenarios = lookupTable<readonly Step[]>({
  approval: [pending, pending, pending, "approve"],
  "slow-down": [pending, "slow_down", pending, "slow_down", "approve"],
  expired: [pending, "expire"],
  denied: [pending, "deny"],
  reset: [pending, "reset", "approve"],
  "html-503": [pending, "html-503", "approve"],
  "lost-answer": [pending, "lost", "approve"],
});
