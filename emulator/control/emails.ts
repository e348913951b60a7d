import type { EmailPurpose } from "../../src/api/emulator/deliveries.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { toAddressKey } from "../../src/schemes/email-hash.ts";
import { contracts } from "../cluster/contracts/rows.ts";
import { buildMetadata, type Email, emails, formatEmailLink, purgeEmails } from "../domain/emails.ts";
import { workspaces } from "../domain/workspaces.ts";
import { blackholeMails } from "../router/apps/mailer.ts";
import type { IndexQuery, View } from "../store/port.ts";
import type { ControlContext, ControlHandlers } from "./context.ts";

export const emailHandlers = {
  "emails.list": async ({ query: { limit, offset, ...filters } }, context) => {
    const now = context.clock.now();
    await context.store.transaction("emails.list", (tx) => purgeEmails(tx, now, 500));
    return context.store.read(async (view) => {
      const { rows, total } = await listMatching(view, filters, { limit, offset });
      return { items: await toEmailRecords(view, rows, context), total };
    });
  },

  "emails.blackhole": ({ query: { limit, offset } }, { store }) =>
    store.read(async (view) => ({
      items: (await view.list(blackholeMails, { reverse: true, limit, offset })).map((mail) => ({
        id: mail.id,
        received_at: toIsoMillis(mail.received_at),
        content_type: mail.content_type,
        body: mail.body_base64,
      })),
      total: await view.count(blackholeMails),
    })),
} satisfies ControlHandlers;

interface EmailQuery {
  readonly contract?: string | undefined;
  readonly recipient?: string | undefined;
  readonly purpose?: EmailPurpose | undefined;
}

/**
 * Returns e-mails, newest first. Reads the index that usually has the fewest matches, and applies the other filters to
 * the rows.
 */
async function listMatching(
  view: View,
  { contract, recipient, purpose }: EmailQuery,
  page: { limit: number; offset: number },
) {
  const number = contract?.replace(/^[TH]-/, "");
  const slices: (IndexQuery<"recipient" | "contract" | "purpose"> | undefined)[] = [
    recipient === undefined ? undefined : { by: "recipient", equals: toAddressKey(recipient) },
    number === undefined ? undefined : { by: "contract", equals: Number(number) },
    purpose === undefined ? undefined : { by: "purpose", equals: purpose },
  ];
  const [first = {}, ...otherSlices] = slices.filter((slice) => slice !== undefined);
  if (otherSlices.length === 0) {
    const rows = await view.list(emails, { ...first, ...page, reverse: true });
    return { rows, total: await view.count(emails, first) };
  }
  const matches = (await view.list(emails, { ...first, reverse: true })).filter(
    (row) =>
      (number === undefined || String(row.contract_id) === number) &&
      (purpose === undefined || row.purpose === purpose),
  );
  return { rows: matches.slice(page.offset, page.offset + page.limit), total: matches.length };
}

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
