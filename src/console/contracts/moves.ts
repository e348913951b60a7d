import type { Trigger } from "../../api/contracts/lifecycle.ts";
import type { Answer } from "../api/operations.ts";

/** How a move of the declared table is made here: by a button, or by a command where a file belongs to it. */
type Way =
  | {
      readonly by: "owner";
      readonly op: `emulator-contracts.${"send" | "mark" | "unmark" | "request-review" | "request-approval" | "hold" | "resume" | "void" | "delete"}`;
      readonly words: string;
      readonly kind?: "primary" | "danger";
    }
  /** A button of the person whose turn it is: people.tsx. */
  | { readonly by: "person" }
  | { readonly by: "command"; readonly command: (number: number) => string }
  /** The service does it by itself, or it makes the contract. */
  | { readonly by: "nobody" };

/** Every trigger of the table, in the order in which its buttons stand. */
export const ways: Readonly<Record<Trigger, Way>> = {
  send: { by: "owner", op: "emulator-contracts.send", words: "Send", kind: "primary" },
  "mark-for-execution": { by: "owner", op: "emulator-contracts.mark", words: "Mark for execution" },
  "request-review": { by: "owner", op: "emulator-contracts.request-review", words: "Ask for a review" },
  "request-approval": { by: "owner", op: "emulator-contracts.request-approval", words: "Ask for an approval" },
  "unmark-for-execution": { by: "owner", op: "emulator-contracts.unmark", words: "Take out of signature" },
  hold: { by: "owner", op: "emulator-contracts.hold", words: "Put on hold" },
  resume: { by: "owner", op: "emulator-contracts.resume", words: "Resume", kind: "primary" },
  void: { by: "owner", op: "emulator-contracts.void", words: "Void", kind: "danger" },
  delete: { by: "owner", op: "emulator-contracts.delete", words: "Delete", kind: "danger" },
  sign: { by: "person" },
  decline: { by: "person" },
  "complete-review": { by: "person" },
  approve: { by: "person" },
  "upload-version": {
    by: "command",
    command: (number) => `svc contracts upload-version ${number} --document-name new.pdf --document-base-64 @new.pdf`,
  },
  "upload-executed-version": {
    by: "command",
    command: (number) =>
      `svc contracts upload-version ${number} --document-name signed.pdf --document-base-64 @signed.pdf --is-executed-version`,
  },
  "executed-outside": { by: "nobody" },
  "all-signed": { by: "nobody" },
  "create-from-template": { by: "nobody" },
  "upload-for-review": { by: "nobody" },
  "upload-for-signature": { by: "nobody" },
  "import-executed": { by: "nobody" },
};

/** What came of a move, for the foot of the page. */
export const moved = ({ composite_id, contract_status }: Answer<"emulator-contracts.sign">): string =>
  `${composite_id} is ${contract_status}`;
