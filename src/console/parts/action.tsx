import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { systemWallClock } from "../../base/clock.ts";
import { CallError, connection, explainDenied } from "../api/call.ts";
import type { OperationId, OperationInput, OperationResult } from "../api/operations.ts";
import { type ActionOutcome, formatCommand, lastAction, performAction, replacedStates } from "../state/act.ts";
import { Icon } from "./messages.tsx";

interface ActionProps<Id extends OperationId> {
  readonly op: Id;
  readonly input: OperationInput<Id>;
  readonly children: ComponentChildren;
  /** Accessible name, if the text is not enough. */
  readonly name?: string;
  readonly kind?: "primary" | "danger";
  readonly disabled?: boolean;
  /** The command, if it cannot be derived. */
  readonly command?: string;
  /** Describes the result for the foot of the page. */
  readonly describe?: (answer: OperationResult<Id>) => ActionOutcome | Promise<ActionOutcome>;
  /** The confirmation, if the action cannot be undone. */
  readonly question?: Question | undefined;
  readonly onDone?: (answer: OperationResult<Id>) => void;
}

/** Renders a button that calls an operation, and another one that shows the equivalent command. */
export function Action<Id extends OperationId>(props: ActionProps<Id>) {
  const { op, input, children, name, kind, disabled, describe, question, onDone } = props;
  const command = props.command ?? formatCommand(op, input);
  const deniedReason = explainDenied(op);
  const isLost = connection.value === "lost";
  const isRunning = useSignal(false);
  const run = async () => {
    if (isRunning.value || isLost) return;
    if (deniedReason !== undefined) {
      lastAction.value = { state: "failed", problem: new CallError(403, deniedReason) };
      return;
    }
    if (question && !(await askForConfirmation(question))) return;
    isRunning.value = true;
    const outcome = await performAction(op, input, describe, command);
    isRunning.value = false;
    if (outcome) onDone?.(outcome.answer);
  };
  return (
    <span class={`action ${kind ?? ""}`}>
      <button
        type="button"
        class="act"
        aria-label={name}
        aria-busy={isRunning.value}
        // Unlike a disabled button, it can have the focus, so that keyboard users get the reason.
        aria-disabled={isLost || deniedReason !== undefined}
        disabled={disabled}
        title={deniedReason ?? (isLost ? "The emulator does not respond." : undefined)}
        onClick={() => void run()}
      >
        {children}
      </button>
      <button
        type="button"
        class="how"
        aria-label={`Command for: ${name ?? toText(children)}`}
        title={command}
        onClick={({ currentTarget }) => toggleCommand(command, currentTarget)}
      >
        <Icon name="command" />
      </button>
    </span>
  );
}

/**
 * Handles the submission of a form: Enter in a field clicks the form's Action button. The page does not submit forms.
 */
export function pressAction(event: Event): void {
  event.preventDefault();
  (event.currentTarget as HTMLElement).querySelector<HTMLElement>(".act")?.click();
}

const toText = (children: ComponentChildren): string =>
  [children]
    .flat()
    .filter((child) => typeof child === "string" || typeof child === "number")
    .join("")
    .trim();

/** The confirmation of an action that cannot be undone. */
export interface Question {
  /** The question, such as `Delete T-6?`. */
  readonly title: string;
  readonly consequence: string;
  readonly confirmLabel: string;
}

const pendingQuestion = signal<
  { readonly question: Question; readonly answer: (isConfirmed: boolean) => void } | undefined
>(undefined);

const askForConfirmation = (question: Question): Promise<boolean> =>
  new Promise((answer) => {
    pendingQuestion.value = { question, answer };
  });

/** The single confirmation dialog of the page. */
export function Confirm() {
  const open = pendingQuestion.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const end = (isConfirmed: boolean) => {
    if (pendingQuestion.peek() !== open) return;
    // The dialog closes while the pressed button still exists, so that the button gets the focus back.
    dialog.current?.close();
    pendingQuestion.value = undefined;
    open?.answer(isConfirmed);
  };
  useEffect(() => {
    if (!open) return;
    dialog.current?.showModal();
    const before = replacedStates.peek();
    const stop = replacedStates.subscribe((count) => {
      // An answered question is over, although its dialog may be rendered once more.
      if (count === before || pendingQuestion.peek() !== open) return;
      end(false);
      const words = "Canceled, because the state may have been replaced: the same ID may now be another object";
      lastAction.value = { state: "done", outcome: { tone: "warn", words } };
    });
    return () => {
      stop();
      // After the end of the session, the next one may be that of another emulator.
      end(false);
    };
  }, [open]);
  if (!open) return null;
  const { title, consequence, confirmLabel } = open.question;
  return (
    <dialog
      class="confirm"
      ref={dialog}
      aria-labelledby="question"
      aria-describedby="consequence"
      onCancel={() => end(false)}
    >
      <h2 id="question">{title}</h2>
      <p id="consequence">{consequence}</p>
      <div class="actions">
        <button type="button" onClick={() => end(false)}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={() => end(true)}>
          {confirmLabel}
        </button>
      </div>
    </dialog>
  );
}

/** `of` names the text for screen readers, if there are several such buttons. */
export function Copy(props: { readonly text: string; readonly label?: string; readonly of?: string }) {
  const { text, label = "Copy", of } = props;
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
      {of && <span class="unseen"> {of}</span>}
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

export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code>{text}</code>
    <Copy text={text} />
  </div>
);
