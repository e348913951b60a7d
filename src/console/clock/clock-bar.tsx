import { dateOf, timeOf } from "../format.ts";
import { connection } from "../live/connection.ts";
import { Action } from "../parts/action.tsx";
import { Icon } from "../parts/icon.tsx";
import { State } from "../parts/state.tsx";
import type { Outcome } from "../state/act.ts";
import { clock, nowSeconds } from "../state/clock.ts";
import { Mode } from "./mode.tsx";
import { MoveTo } from "./move-to.tsx";
import { NextDue } from "./next-due.tsx";

/** What it did, for the foot of the page. */
function ran(moved: { ran: readonly unknown[]; to: string; status: string }): Outcome {
  const { ran: entries, to, status } = moved;
  const done =
    entries.length === 0
      ? "nothing was due"
      : entries.length === 1
        ? "1 job was done"
        : `${entries.length} jobs were done`;
  if (status === "stopped")
    return { tone: "warn", words: `Stopped on the way, at ${timeOf(to)}: ${done}. Press it again` };
  return `It is ${timeOf(to)}: ${done}`;
}

/** Virtual time, what it waits for, and how it is moved. Stands on every view. */
export function ClockBar() {
  const read = clock.value;
  if (!read) return <section class="clock" aria-label="Virtual time" aria-busy="true" />;
  const isIdle = read.pending === 0;
  const isLost = connection.value === "lost";
  return (
    <section class={`clock ${isLost ? "lost" : ""}`} aria-label="Virtual time">
      <div class="now">
        <p class="label">
          Virtual time <span class="date number">{dateOf(nowSeconds.value)}</span>
        </p>
        <p class="big number">
          <time dateTime={new Date(nowSeconds.value).toISOString()}>{timeOf(nowSeconds.value)}</time>
        </p>
        {isLost ? (
          <p class="mode">
            <State tone="warn">when it was last seen</State>
          </p>
        ) : (
          <Mode read={read} />
        )}
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
