import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isoSeconds } from "../../base/clock.ts";
import type { Answer } from "../api/operations.ts";
import { Action, pressAction } from "../parts/action.tsx";
import type { Outcome } from "../state/act.ts";

/** Moves virtual time to a moment that is typed, in a panel that lies over the page: nothing gives way to it. */
export function MoveTo(props: {
  readonly from: number;
  readonly message: (answer: Answer<"clock.advance">) => Outcome;
}) {
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
      {isOpen.value && <Panel {...props} close={close} leave={leave} />}
    </div>
  );
}

function Panel(props: {
  readonly from: number;
  readonly message: (answer: Answer<"clock.advance">) => Outcome;
  /** Closes it; `leave` goes back to the button that opened it, too. */
  readonly close: () => void;
  readonly leave: () => void;
}) {
  const { from, message, close, leave } = props;
  const typed = useSignal(isoSeconds(from + 3_600_000).slice(0, 16));
  const form = useRef<HTMLFormElement>(null);
  // Not after it is drawn: on a slow machine keys and the pointer come before that.
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
    addEventListener("keydown", onKey);
    addEventListener("pointerdown", onElsewhere);
    addEventListener("focusin", onElsewhere);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("pointerdown", onElsewhere);
      removeEventListener("focusin", onElsewhere);
    };
  }, []);
  return (
    <form class="panel" ref={form} aria-label="Move time to a moment" onSubmit={pressAction}>
      <label>
        <span class="label">To (virtual, UTC)</span>
        <input
          type="datetime-local"
          value={typed.value}
          min={isoSeconds(from).slice(0, 16)}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
          }}
        />
      </label>
      <div class="actions">
        <Action
          op="clock.advance"
          input={{ body: { to: `${typed.value}:00Z` } }}
          kind="primary"
          disabled={typed.value === ""}
          message={message}
          done={leave}
        >
          Move there
        </Action>
        <button type="button" class="quiet" onClick={leave}>
          Cancel
        </button>
      </div>
    </form>
  );
}
