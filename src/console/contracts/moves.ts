import type { Trigger } from "../../api/contracts/lifecycle.ts";
import type { OperationResult } from "../api/operations.ts";
import type { PossibleMove } from "./lifecycle-picture.tsx";

/** How the console makes a move: with a button, or with a command if it needs a file. */
type MoveAction =
  | {
      readonly by: "owner";
      readonly op: `emulator-contracts.${"send" | "mark" | "unmark" | "request-review" | "request-approval" | "hold" | "resume" | "void" | "delete"}`;
      readonly words: string;
      readonly kind?: "primary" | "danger";
      /** What a confirmation says, if the move cannot be undone. */
      readonly consequence?: string;
      /** Describes the result, if that is not a state. */
      readonly describeDone?: (id: string) => string;
    }
  /** A button of the person whose turn it is (contract-page.tsx). */
  | { readonly by: "person" }
  | { readonly by: "command"; readonly formatCommand: (number: number) => string }
  /** The service applies it by itself, or it creates the contract. */
  | { readonly by: "service" };

/** Every trigger of the table, in the order of its buttons. */
export const moveActions: Readonly<Record<Trigger, MoveAction>> = {
  send: { by: "owner", op: "emulator-contracts.send", words: "Send", kind: "primary" },
  "mark-for-execution": { by: "owner", op: "emulator-contracts.mark", words: "Mark for execution" },
  "request-review": {
    by: "owner",
    op: "emulator-contracts.request-review",
    words: "Request review",
    describeDone: (id) => `Review of ${id} requested`,
  },
  "request-approval": {
    by: "owner",
    op: "emulator-contracts.request-approval",
    words: "Request approval",
    describeDone: (id) => `Approval of ${id} requested`,
  },
  "unmark-for-execution": { by: "owner", op: "emulator-contracts.unmark", words: "Unmark for execution" },
  hold: { by: "owner", op: "emulator-contracts.hold", words: "Put on hold" },
  resume: { by: "owner", op: "emulator-contracts.resume", words: "Resume", kind: "primary" },
  void: {
    by: "owner",
    op: "emulator-contracts.void",
    words: "Void",
    kind: "danger",
    consequence: "It can no longer be signed. To undo this, restore a snapshot or rewind.",
  },
  delete: {
    by: "owner",
    op: "emulator-contracts.delete",
    words: "Delete",
    kind: "danger",
    consequence: "It will no longer be found. To undo this, restore a snapshot or rewind.",
    describeDone: (id) => `${id} is deleted`,
  },
  sign: { by: "person" },
  decline: { by: "person" },
  "complete-review": { by: "person" },
  approve: { by: "person" },
  "upload-version": {
    by: "command",
    formatCommand: (number) =>
      `svc contracts upload-version ${number} --document-name new.pdf --document-base-64 @new.pdf`,
  },
  "upload-executed-version": {
    by: "command",
    formatCommand: (number) =>
      `svc contracts upload-version ${number} --document-name signed.pdf --document-base-64 @signed.pdf --is-executed-version`,
  },
  "executed-outside": { by: "service" },
  "all-signed": { by: "service" },
  "create-from-template": { by: "service" },
  "upload-for-review": { by: "service" },
  "upload-for-signature": { by: "service" },
  "import-executed": { by: "service" },
};

/** Describes the result of a transition, for the foot of the page. */
export const describeMove = ({ composite_id, contract_status }: OperationResult<"emulator-contracts.sign">): string =>
  `${composite_id} is ${contract_status}`;

/**
 * Describes the results of a trigger's transitions, in order: `becomes DRAFT, if created from a template; otherwise
 * becomes REDLINING`.
 */
export function describeMoveResults(moves: readonly PossibleMove[]): string {
  const found: { readonly result: string; readonly when: (string | undefined)[] }[] = [];
  for (const move of moves) {
    const result = describeResult(move);
    const last = found.at(-1);
    if (last?.result === result) last.when.push(move.when);
    else found.push({ result, when: [move.when] });
  }
  return found.map(({ result, when }) => `${result}${describeCondition(when)}`).join("; otherwise ");
}

/** If the last transition is unconditional, conditions of earlier transitions with the same result are redundant. */
const describeCondition = (when: readonly (string | undefined)[]): string =>
  when.includes(undefined) ? "" : `, if ${when.join(", or if ")}`;

function describeResult({ trigger, to, isAutomatic }: PossibleMove): string {
  const result =
    to === "="
      ? "status unchanged"
      : to === "held"
        ? "returns to the previous status"
        : to === "(deleted)"
          ? "is deleted"
          : `becomes ${to}`;
  const cause = trigger === "all-signed" ? "with the last signature" : "when a signed version is uploaded";
  return `${result}${isAutomatic ? `, ${cause}` : ""}`;
}
