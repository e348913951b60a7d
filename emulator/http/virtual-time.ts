import { type Clock, isoMillis } from "../../src/base/clock.ts";

/** The value of `x-svc-time`. Printing a time costs more than all other headers, so it is done once per instant. */
export function virtualTime(clock: Clock): () => string {
  let last = Number.NaN;
  let printed = "";
  return () => {
    const now = clock.now();
    if (now !== last) {
      last = now;
      printed = isoMillis(now);
    }
    return printed;
  };
}
