import { toIsoMillis } from "../../src/base/clock.ts";
import { toAddressKey } from "../../src/base/email-address.ts";
import { contracts } from "../cluster/contracts/rows.ts";
import { buildMetadata, type Email, emails, formatEmailLink, purgeEmails } from "../domain/emails.ts";
import { workspaces } from "../domain/workspaces.ts";
import { inTransaction } from "../http/handler.ts";
import { blackholeMails } from "../router/apps/mailer.ts";
import type { View } from "../store/port.ts";
import { listPage } from "../store/rows.ts";
import { type ControlContext, type ControlHandlers, createListHandler } from "./context.ts";
import { readContractFilter } from "./contracts/contracts.ts";

export const emailHandlers = {
  "emails.list": inTransaction((tx, { query }, context) => {
    purgeEmails(tx, context.clock.now(), 500);
    const { contract, recipient, purpose } = query;
    const filter = {
      recipient: recipient && toAddressKey(recipient),
      contract_id: readContractFilter(tx, contract),
      purpose,
    };
    const indexedFields = { recipient: "recipient", contract_id: "contract", purpose: "purpose" } as const;
    const { rows, total } = listPage(tx, emails, query, filter, indexedFields);
    return { items: rows.map((row) => toEmailRecord(tx, row, context)), total };
  }),

  "emails.blackhole": createListHandler(blackholeMails, ({ id, received_at, content_type, body_base64: body }) => ({
    ...{ id, content_type, body },
    received_at: toIsoMillis(received_at),
  })),
} satisfies ControlHandlers;

export function toEmailRecord(
  view: View,
  row: Email,
  { settings, clusters }: Pick<ControlContext, "settings" | "clusters">,
) {
  const { path: _, sent_at, events, ...rest } = row;
  const contract = view.get(contracts, row.contract_id)?.name ?? `contract ${row.contract_id}`;
  const sender = view.get(workspaces, row.workspace_id)?.name ?? "The service";
  return {
    ...rest,
    ...composeEmail(row, contract, sender),
    sent_at: toIsoMillis(sent_at),
    link: formatEmailLink(row, settings, clusters),
    metadata: buildMetadata(row),
    events: events.map((event) => ({ ...event, at: toIsoMillis(event.at) })),
  };
}

/** The service's own texts are not public (DECISIONS.md, R27). */
function composeEmail({ purpose, mode }: Email, contract: string, sender: string): { subject: string; text: string } {
  if (mode === "cc") return { subject: `Copy: ${contract}`, text: `${sender} sent you a copy of “${contract}”.` };
  switch (purpose) {
    case "signing":
      return {
        subject: `Signature requested: ${contract}`,
        text: `${sender} asks you to sign “${contract}”. Open the link to read and sign it.`,
      };
    case "redlining":
      return {
        subject: `Review requested: ${contract}`,
        text: `${sender} asks you to review “${contract}”. Open the link to read and edit it.`,
      };
    case "invitation":
      return {
        subject: `Invitation to ${sender}`,
        text: `${sender} invites you to its workspace. Open the link to accept the invitation.`,
      };
    case "trial":
      return { subject: "Complete your sign-up", text: "Continue your sign-up with the token in this e-mail." };
  }
}
