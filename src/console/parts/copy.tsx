import { signal, useSignal } from "@preact/signals";
import { systemWallClock } from "../../base/clock.ts";
import { Icon } from "./labels.tsx";

/** Copies a string to the clipboard, and reports it. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const outcome = useSignal<string | undefined>(undefined);
  const copy = async () => {
    // Only pages on this machine or with a certificate have a clipboard.
    outcome.value = await navigator.clipboard?.writeText(text).then(
      () => "Copied",
      () => "Copying is not allowed",
    );
    outcome.value ??= "Select the text to copy it";
    await systemWallClock.sleep(2_000);
    outcome.value = undefined;
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <Icon name={outcome.value === "Copied" ? "check" : "copy"} />
      <span aria-live="polite">{outcome.value ?? label}</span>
    </button>
  );
}

const shownText = signal("");
let popover: HTMLElement | null = null;
let opener: HTMLElement | undefined;

/** Toggles a command below the button that shows it. */
export function toggleCommand(command: string, from: HTMLElement): void {
  if (!popover) return;
  if (popover.matches(":popover-open") && opener === from) {
    popover.hidePopover();
    return;
  }
  shownText.value = command;
  opener = from;
  popover.showPopover();
  const at = from.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.right - width, innerWidth - width - 8));
  const isBelow = at.bottom + height + 8 < innerHeight;
  popover.style.left = `${left}px`;
  popover.style.top = `${isBelow ? at.bottom + 6 : Math.max(8, at.top - height - 6)}px`;
  popover.querySelector("button")?.focus();
}

/** The single element that shows the commands of buttons. */
export const CommandPopover = () => (
  <div
    class="popover"
    popover="auto"
    role="dialog"
    aria-label="Equivalent command"
    ref={(element) => {
      popover = element;
    }}
    onToggle={(event) => {
      if (event.newState === "closed" && popover?.contains(document.activeElement)) opener?.focus();
    }}
  >
    <p class="muted">Equivalent command</p>
    <Command text={shownText.value} />
  </div>
);

/** A command, with a button that copies it. */
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code>{text}</code>
    <Copy text={text} />
  </div>
);
