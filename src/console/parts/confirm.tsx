import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** What is asked before something is done that cannot be taken back. */
export interface Question {
  /** `Delete T-6?` */
  readonly title: string;
  readonly consequence: string;
  /** On the button that does it. */
  readonly yes: string;
}

const asked = signal<{ readonly question: Question; readonly answer: (isMeant: boolean) => void } | undefined>(
  undefined,
);

/** Whether a person means it. */
export const confirmed = (question: Question): Promise<boolean> =>
  new Promise((answer) => {
    asked.value = { question, answer };
  });

/** The one place where the page asks. */
export function Confirm() {
  const open = asked.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  const { title, consequence, yes } = open.question;
  const end = (isMeant: boolean) => {
    // While it is there still: the focus goes back to what was pressed.
    dialog.current?.close();
    asked.value = undefined;
    open.answer(isMeant);
  };
  return (
    <dialog class="confirm" ref={dialog} aria-labelledby="question" onCancel={() => end(false)}>
      <h2 id="question">{title}</h2>
      <p>{consequence}</p>
      <div class="actions">
        <button type="button" onClick={() => end(false)}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={() => end(true)}>
          {yes}
        </button>
      </div>
    </dialog>
  );
}
