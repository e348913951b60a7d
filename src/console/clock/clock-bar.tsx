import { useSignal } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { toIsoSeconds } from "../../base/clock.ts";
import { connection, explainDenied } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { formatDate, formatTime, pluralize } from "../format.ts";
import { Action, pressAction, toggleCommand } from "../parts/action.tsx";
import { bindValue, Icon, State } from "../parts/messages.tsx";
import { type ActionOutcome, formatCommand, performAction } from "../state/act.ts";
import { type Clock, clock, nowSeconds } from "../state/clock.ts";
import { NextDue } from "./next-due.tsx";

/** Describes the result of an advance, for the foot of the page. */
function describeAdvance({ ran, to, status }: OperationResult<"clock.advance">): ActionOutcome {
  const done = ran.length === 0 ? "nothing was due" : `${pluralize(ran.length, "job")} ran`;
  if (status === "stopped")
    return { tone: "warn", words: `Stopped at ${formatTime(to)}: ${done}. Press the button again to continue` };
  return `Now ${formatTime(to)}: ${done}`;
}

/** Virtual time, the next due entry, and the buttons that advance the clock. Shown on every view. */
export function ClockBar() {
  const read = clock.value;
  if (!read) return <section class="clock" aria-label="Virtual time" aria-busy="true" />;
  const isIdle = read.pending === 0;
  const isLost = connection.value === "lost";
  return (
    <section class={`clock ${isLost ? "lost" : ""}`} aria-label="Virtual time">
      <div class="now">
        <p class="label">
          Virtual time <span class="date number">{formatDate(nowSeconds.value)}</span>
        </p>
        <p class="big number">
          <time dateTime={new Date(nowSeconds.value).toISOString()}>{formatTime(nowSeconds.value)}</time>
        </p>
        {isLost ? (
          <p class="mode">
            <State tone="warn">last known time</State>
          </p>
        ) : (
          <Mode read={read} />
        )}
      </div>
      <NextDue />
      <fieldset class="moves" aria-label="Advance virtual time">
        <Action
          op="clock.advance"
          input={{ body: { next: true } }}
          kind="primary"
          disabled={isIdle}
          describe={describeAdvance}
        >
          <Icon name="next" /> Next
        </Action>
        <Action op="clock.advance" input={{ body: { by: "PT5M" } }} describe={describeAdvance}>
          +5 min
        </Action>
        <Action op="clock.advance" input={{ body: { until_idle: true } }} disabled={isIdle} describe={describeAdvance}>
          Until idle
        </Action>
        <MoveTo />
      </fieldset>
    </section>
  );
}

const choices = [
  { words: "Paused", mode: "manual", speed: undefined },
  { words: "Real time", mode: "real", speed: 1 },
  { words: "1 min per second", mode: "real", speed: 60 },
  { words: "1 h per second", mode: "real", speed: 3_600 },
  { words: "Auto-advance", mode: "auto", speed: undefined },
] as const;

const matchesChoice = (read: Clock, { mode, speed }: (typeof choices)[number]): boolean =>
  read.mode === mode && (speed === undefined || read.speed === speed);

const toSettings = ({ mode, speed }: (typeof choices)[number]) => ({
  body: { mode, ...(speed === undefined ? {} : { speed }) },
});

/**
 * Opens a list before an arrow key moves in it. A closed list would apply each choice on the way, such as an hour per
 * second between "Paused" and "Auto-advance".
 */
function openBeforeMoving(event: TargetedKeyboardEvent<HTMLSelectElement>): void {
  const list = event.currentTarget;
  if (!/^(?:Arrow(?:Up|Down)|Home|End|Page(?:Up|Down))$/.test(event.key)) return;
  if (!CSS.supports("selector(:open)") || list.matches(":open")) return;
  event.preventDefault();
  list.showPicker();
}

/** Shows the clock mode as a choice. */
function Mode({ read }: { readonly read: Clock }) {
  const chosen = choices.findIndex((choice) => matchesChoice(read, choice));
  const current = choices[chosen];
  return (
    <div class="mode">
      <select
        aria-label="Clock mode"
        value={String(chosen)}
        disabled={explainDenied("clock.set") !== undefined || connection.value === "lost"}
        title={explainDenied("clock.set")}
        onKeyDown={openBeforeMoving}
        onChange={({ currentTarget }) => {
          const choice = choices[Number(currentTarget.value)];
          if (choice) void performAction("clock.set", toSettings(choice), () => `Clock: ${choice.words}`);
        }}
      >
        {choices.map((choice, at) => (
          <option key={choice.words} value={String(at)}>
            {choice.words}
          </option>
        ))}
        {chosen < 0 && <option value="-1">{`${read.speed}× real time`}</option>}
      </select>
      {current && (
        <button
          type="button"
          class="how"
          aria-label="Command for: clock mode"
          onClick={({ currentTarget }) => toggleCommand(formatCommand("clock.set", toSettings(current)), currentTarget)}
        >
          <Icon name="command" />
        </button>
      )}
    </div>
  );
}

/** Advances virtual time to an entered time, in a panel that covers the page without shifting it. */
function MoveTo() {
  const isOpen = useSignal(false);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    isOpen.value = false;
  };
  const leave = () => {
    close();
    opener.current?.focus();
  };
  return (
    <div class="to">
      <button
        type="button"
        ref={opener}
        aria-expanded={isOpen.value}
        aria-haspopup="dialog"
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        To …
      </button>
      {isOpen.value && <Panel close={close} leave={leave} />}
    </div>
  );
}

/** `close` closes the form. `leave` also returns the focus to the button that opened it. */
function Panel({ close, leave }: { readonly close: () => void; readonly leave: () => void }) {
  const inputValue = useSignal(toIsoSeconds(nowSeconds.value + 3_600_000).slice(0, 16));
  const form = useRef<HTMLFormElement>(null);
  // Runs before rendering, because keys and clicks may come first on a slow machine.
  useLayoutEffect(() => {
    form.current?.querySelector("input")?.focus();
    const isOwn = (target: EventTarget | null) =>
      target instanceof Element &&
      (form.current?.parentElement?.contains(target) || target.closest(".popover") !== null);
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || document.querySelector(":popover-open")) return;
      event.preventDefault();
      leave();
    };
    const onElsewhere = ({ target }: Event) => {
      if (!isOwn(target)) close();
    };
    const closed = new AbortController();
    addEventListener("keydown", onKey, closed);
    addEventListener("pointerdown", onElsewhere, closed);
    addEventListener("focusin", onElsewhere, closed);
    return () => closed.abort();
  }, []);
  return (
    <form class="panel" ref={form} aria-label="Advance to a time" onSubmit={pressAction}>
      <label>
        <span class="label">To (virtual, UTC)</span>
        <input type="datetime-local" min={toIsoSeconds(nowSeconds.value).slice(0, 16)} {...bindValue(inputValue)} />
      </label>
      <div class="actions">
        <Action
          op="clock.advance"
          input={{ body: { to: `${inputValue.value}:00Z` } }}
          kind="primary"
          disabled={inputValue.value === ""}
          describe={describeAdvance}
          onDone={leave}
        >
          Advance
        </Action>
        <button type="button" class="quiet" onClick={leave}>
          Cancel
        </button>
      </div>
      {/* Without a submit button, Enter does not submit a form with a date. */}
      <input type="submit" hidden />
    </form>
  );
}
