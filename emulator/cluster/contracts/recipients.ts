import type * as z from "zod";
import type { Recipient } from "../../../src/api/contracts/contracts.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import type { View } from "../../store/port.ts";
import { users } from "../../world/workspaces.ts";
import type { Contract, Signatory } from "./rows.ts";

/** The rows of the recipients answer: DECISIONS.md, F13. */
export function recipientsOf(view: View, contract: Contract): Promise<z.input<typeof Recipient>[]> {
  return Promise.all(contract.signatories.map((signatory, i) => recipientOf(view, contract, signatory, i + 1)));
}

async function recipientOf(
  view: View,
  { workspace_id }: Contract,
  signatory: Signatory,
  position: number,
): Promise<z.input<typeof Recipient>> {
  const named = await view.list(users, { by: "email", equals: signatory.email.toLowerCase() });
  const member = named.find((user) => user.workspace_id === workspace_id);
  const { action, sent_at } = signatory;
  return {
    recipient: {
      id: signatory.id,
      recipient_type: "SIGNATORY",
      user: {
        // Somebody from outside the workspace has no user row; their row as signatory stands in for it (DECISIONS.md, C13).
        id: member?.id ?? signatory.id,
        email: signatory.email,
        name: signatory.name,
        designation: member?.designation ?? null,
      },
      recipient_order: signatory.sign_order ?? position,
      note: signatory.note,
      created: isoSeconds(signatory.created_at),
      title: signatory.title,
      is_sent_for_signature: sent_at !== null,
      last_sent_for_signature_at: sent_at === null ? null : isoSeconds(sent_at),
    },
    recipient_action: action && {
      is_success: action.is_success,
      action_notes: action.notes,
      timestamp: isoSeconds(action.at),
    },
    status: action ? "COMPLETED" : sent_at === null ? "PENDING" : "IN_PROGRESS",
  };
}
