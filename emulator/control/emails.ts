import { toIsoMillis } from "../../src/base/clock.ts";
import { toAddressKey } from "../../src/base/email-address.ts";
import { contracts } from "../cluster/contracts/rows.ts";
import { buildMetadata, type Email, emails, formatEmailLink, purgeEmails } from "../domain/emails.ts";
import { workspaces } from "../domain/workspaces.ts";
import { blackholeMails } from "../router/apps/mailer.ts";
import type { View } from "../store/port.ts";
import { listPage } from "../store/rows.ts";
import { type ControlContext, type ControlHandlers, createListHandler } from "./context.ts";

export const emailHandlers = {
  "emails.list": async ({ query }, context) => {
    const now = context.clock.now();
    await context.store.transaction("emails.list", (tx) => purgeEmails(tx, now, 500));
    const { contract, recipient, purpose } = query;
    const filter = {
      recipient: recipient && toAddressKey(recipient),
      contract_id: contract === undefined ? undefined : Number(contract.replace(/^[TH]-/, "")),
      purpose,
    };
    const indexedFields = { recipient: "recipient", contract_id: "contract", purpose: "purpose" } as const;
    return context.store.read(async (view) => {
      const { rows, total } = await listPage(view, emails, query, filter, indexedFields);
      return { items: await toEmailRecords(view, rows, context), total };
    });
  },

  "emails.blackhole": createListHandler(blackholeMails, ({ id, received_at, content_type, body_base64: body }) => ({
    ...{ id, content_type, body },
    received_at: toIsoMillis(received_at),
  })),
} satisfies ControlHandlers;

export async function toEmailRecords(
  view: View,
  rows: readonly Email[],
  { settings, clusters }: Pick<ControlContext, "settings" | "clusters">,
) {
  const contractRows = await view.getAll(contracts, rows, ({ contract_id }) => contract_id ?? undefined);
  const senders = await view.getAll(workspaces, rows, ({ workspace_id }) => workspace_id ?? undefined);
  return rows.map((row, i) => {
    const { path: _, sent_at, events, ...rest } = row;
    return {
      ...rest,
      ...composeEmail(row, contractRows[i]?.name ?? `contract ${row.contract_id}`, senders[i]?.name ?? "The service"),
      sent_at: toIsoMillis(sent_at),
      link: formatEmailLink(row, settings, clusters),
      metadata: buildMetadata(row),
      events: events.map((event) => ({ ...event, at: toIsoMillis(event.at) })),
    };
  });
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
