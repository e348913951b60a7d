import { dateOf, timeOf } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Icon } from "../parts/icon.tsx";
import { clock, nowSeconds } from "../state/clock.ts";
import { Mode } from "./mode.tsx";
import { MoveTo } from "./move-to.tsx";
import { NextDue } from "./next-due.tsx";

/** What it did, for the foot of the page. */
const ran = ({ ran: entries, to, status }: { ran: readonly unknown[]; to: string; status: string }): string =>
  `${entries.length === 0 ? "Nothing was due" : `${entries.length} ran`}; it is ${timeOf(to)}${status === "stopped" ? ", stopped on the way: press it again" : ""}`;

/** Virtual time, what it waits for, and how it is moved. Stands on every view. */
export function ClockBar() {
  const read = clock.value;
  if (!read) return <section class="clock" aria-label="Virtual time" aria-busy="true" />;
  const isIdle = read.pending === 0;
  return (
    <section class="clock" aria-label="Virtual time">
      <div class="now">
        <p class="label">Virtual time</p>
        <p class="big number">
          <time dateTime={new Date(nowSeconds.value).toISOString()}>
            <span class="date">{dateOf(nowSeconds.value)}</span> {timeOf(nowSeconds.value)}
          </time>
        </p>
        <Mode read={read} />
      </div>
      <NextDue />
      <fieldset class="moves" aria-label="Move virtual time">
        <Action op="clock.advance" input={{ body: { next: true } }} kind="primary" disabled={isIdle} message={ran}>
          <Icon name="next" /> Next
        </Action>
        <Action op="clock.advance" input={{ body: { by: "PT5M" } }} message={ran}>
          +5 min
        </Action>
        <Action op="clock.advance" input={{ body: { until_idle: true } }} disabled={isIdle} message={ran}>
          Until idle
        </Action>
        <MoveTo from={nowSeconds.value} message={ran} />
      </fieldset>
    </section>
  );
}
