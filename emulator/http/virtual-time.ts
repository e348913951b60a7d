import { type Clock, isoMillis } from "../../src/base/clock.ts";

/**
 * The value of `x-svc-time`. Printing a time costs more than all other headers, so it is done once a second; of the
 * instants within, only the milliseconds are put in.
 */
export function virtualTime(clock: Clock): () => string {
  let second = Number.NaN;
  let printed = "";
  return () => {
    const now = clock.now();
    const millis = now % 1_000;
    if (now - millis !== second) {
      second = now - millis;
      printed = isoMillis(second).slice(0, -"000Z".length);
    }
    return `${printed}${String(millis).padStart(3, "0")}Z`;
  };
}
