import type * as z from "zod";
import type { Recipient } from "../../../src/api/contracts/contracts.ts";
import { isoSeconds } from "../../../src/base/clock.ts";
import type { View } from "../../store/port.ts";
import { memberNamed, outsiderId } from "../workspace/person-ids.ts";
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
  const member = await memberNamed(view, workspace_id, signatory.email);
  const { action, sent_at } = signatory;
  return {
    recipient: {
      id: signatory.id,
      recipient_type: "SIGNATORY",
      user: {
        id: member?.id ?? (await outsiderId(view, workspace_id, signatory.email, signatory.id)),
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
