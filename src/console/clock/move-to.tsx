import { useSignal } from "@preact/signals";
import { isoSeconds } from "../../base/clock.ts";
import type { Answer } from "../api/operations.ts";
import { Action, pressAction } from "../parts/action.tsx";

/** Moves virtual time to a moment that is typed. */
export function MoveTo(props: {
  readonly from: number;
  readonly message: (answer: Answer<"clock.advance">) => string;
}) {
  const isOpen = useSignal(false);
  const typed = useSignal("");
  if (!isOpen.value) {
    return (
      <button
        type="button"
        class="plain"
        onClick={() => {
          typed.value = isoSeconds(props.from + 3_600_000).slice(0, 16);
          isOpen.value = true;
        }}
      >
        To …
      </button>
    );
  }
  return (
    <form class="to" aria-label="Move time to a moment" onSubmit={pressAction}>
      <label>
        <span class="label">To (virtual, UTC)</span>
        <input
          type="datetime-local"
          value={typed.value}
          min={isoSeconds(props.from).slice(0, 16)}
          ref={(input) => {
            if (input && document.activeElement?.closest("form") !== input.form) input.focus();
          }}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
          }}
        />
      </label>
      <Action
        op="clock.advance"
        input={{ body: { to: `${typed.value}:00Z` } }}
        disabled={typed.value === ""}
        message={props.message}
        done={() => {
          isOpen.value = false;
        }}
      >
        Move there
      </Action>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isOpen.value = false;
        }}
      >
        Cancel
      </button>
    </form>
  );
}
