import * as z from "zod";
import { emailPurposes, mailerEventNames } from "../../src/api/emulator/deliveries.ts";
import { toAddressKey } from "../../src/base/email-address.ts";
import { defineNumberedRows, parseRowNumber, storedTime, type Transaction, type View } from "../store/port.ts";
import { maxRetentionMs } from "../store/rows.ts";
import type { EmulatorSettings } from "./settings.ts";

/** An e-mail that the platform would send, with its provider's reports (DECISIONS.md, R27). */
const Email = z.strictObject({
  id: z.int(),
  /** Null for an e-mail that the router sends. */
  cluster_id: z.string().nullable(),
  workspace_id: z.int().nullable(),
  contract_id: z.int().nullable(),
  purpose: z.enum(emailPurposes),
  recipient: z.string(),
  mode: z.enum(["to", "cc"]),
  /** Path of the link in the e-mail: at the cluster if the e-mail is about a contract, otherwise at the router. */
  path: z.string().nullable(),
  /** Token with which the recipient continues a signup or an invitation. */
  token: z.string().nullable(),
  /** Virtual milliseconds. */
  sent_at: storedTime(z.number()),
  /** Oldest first. */
  events: z.array(
    z.strictObject({ type: z.enum(mailerEventNames), at: storedTime(z.number()), detail: z.string().nullable() }),
  ),
});
export type Email = z.infer<typeof Email>;
export type EmailEvent = Email["events"][number];

export const emails = defineNumberedRows("emails", "email", Email, {
  recipient: (row) => toAddressKey(row.recipient),
  contract: (row) => row.contract_id ?? undefined,
  /** Each opened link uses this index, because a user has many contracts and a contract has many users. */
  addressee: (row) =>
    row.contract_id === null ? undefined : buildAddresseeKey(String(row.contract_id), row.recipient),
  purpose: (row) => row.purpose,
  sent: (row) => row.sent_at,
});

const buildAddresseeKey = (contractId: string, recipient: string): string => `${contractId} ${toAddressKey(recipient)}`;

/** Maximum number of stored events per e-mail, because unauthenticated clients can report events. */
const maxEventsPerEmail = 100;

/** Stores an e-mail instead of sending it. */
export function sendEmail(
  tx: Transaction,
  fields: Pick<Email, "purpose" | "recipient" | "sent_at"> & Partial<Omit<Email, "id" | "events">>,
): Email {
  const { cluster_id = null, workspace_id = null, contract_id = null, purpose, recipient } = fields;
  const { mode = "to", path = null, token = null, sent_at } = fields;
  const location = { cluster_id, workspace_id, contract_id };
  // A diff lists the fields in this order, which is that of the schema.
  const email = { id: tx.next("email"), ...location, purpose, recipient, mode, path, token, sent_at, events: [] };
  tx.put(emails, email);
  return email;
}

export function recordEmailEvent(tx: Transaction, email: Email, event: EmailEvent): void {
  tx.put(emails, { ...email, events: [...email.events, event].slice(-maxEventsPerEmail) });
}

/** E-mails are retained for 90 virtual days, like other records (DECISIONS.md, C21). */
export function purgeEmails(tx: Transaction, now: number, limit = 50): number {
  const expiredRows = tx.list(emails, { by: "sent", to: now - maxRetentionMs, limit });
  for (const { id } of expiredRows) tx.delete(emails, id);
  return expiredRows.length;
}

/** Metadata of an event that identifies its e-mail. */
interface EmailSelector {
  readonly email_id?: string | undefined;
  readonly cluster_id?: string | undefined;
  /** `12` or `T-12` */
  readonly contract_id?: string | undefined;
  readonly recipient?: string | undefined;
  readonly purpose?: string | undefined;
}

/** Returns the newest match of all given fields, or undefined if neither recipient nor ID is given. */
export function findEmail(view: View, selector: EmailSelector): Email | undefined {
  const { email_id, cluster_id, recipient, purpose } = selector;
  const contractId = selector.contract_id?.replace(/^[TH]-/, "");
  const matchesSelector = (row: Email): boolean =>
    (cluster_id === undefined || row.cluster_id === cluster_id) &&
    (contractId === undefined || String(row.contract_id) === contractId) &&
    (recipient === undefined || toAddressKey(row.recipient) === toAddressKey(recipient)) &&
    (purpose === undefined || row.purpose === purpose);
  if (email_id !== undefined) {
    const row = view.get(emails, parseRowNumber(email_id));
    return row && matchesSelector(row) ? row : undefined;
  }
  if (recipient === undefined) return undefined;
  const candidates =
    contractId === undefined
      ? view.list(emails, { by: "recipient", equals: toAddressKey(recipient), reverse: true })
      : view.list(emails, { by: "addressee", equals: buildAddresseeKey(contractId, recipient), reverse: true });
  return candidates.find(matchesSelector);
}

/** Builds the Metadata of an e-mail, which every event about the e-mail repeats. */
export const buildMetadata = ({ id, cluster_id, contract_id, recipient, purpose }: Email): Record<string, string> => ({
  ...(cluster_id !== null && { cluster_id }),
  email_id: String(id),
  ...(contract_id !== null && { contract_id: String(contract_id) }),
  recipient,
  purpose,
});

/** Formats the link in an e-mail with the current addresses. */
export function formatEmailLink(
  { path, contract_id, cluster_id }: Email,
  { publicUrl }: EmulatorSettings,
  clusters: readonly { readonly id: string; readonly url: string }[],
): string | null {
  if (path === null) return null;
  const cluster = contract_id === null ? undefined : clusters.find(({ id }) => id === cluster_id);
  return `${cluster?.url ?? publicUrl}${path}`;
}
