import { type Clock, isoMillis } from "../../src/base/clock.ts";

/**
 * The value of `x-svc-time`. Printing a time costs more than all other headers, so it is done once a second; of the
 * instants within, only the milliseconds are put in, once for all requests of one.
 */
export function virtualTime(clock: Clock): () => string {
  let instant = Number.NaN;
  let second = Number.NaN;
  let printed = "";
  let whole = "";
  return () => {
    const now = clock.now();
    if (now === instant) return whole;
    instant = now;
    const millis = now % 1_000;
    if (now - millis !== second) {
      second = now - millis;
      printed = isoMillis(second).slice(0, -"000Z".length);
    }
    whole = `${printed}${String(millis).padStart(3, "0")}Z`;
    return whole;
  };
}
