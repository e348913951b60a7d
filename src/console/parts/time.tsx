import { dateOf, timeOf } from "../format.ts";
import { clock } from "../state/clock.ts";

/** A moment of virtual time; its date stands there where it is another than today's. */
export function VirtualTime({ at }: { readonly at: string }) {
  const today = clock.value && dateOf(clock.value.now);
  return (
    <time class="number" dateTime={at} title={`${at}, virtual time`}>
      {dateOf(at) === today ? "" : `${dateOf(at)} `}
      {timeOf(at)}
    </time>
  );
}
