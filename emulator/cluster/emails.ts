import * as z from "zod";
import { type MailerEvent, mailerEvents } from "../../src/api/emulator/deliveries.ts";
import { dictionary } from "../../src/api/shapes.ts";
import { type Clock, toIsoMicros } from "../../src/base/clock.ts";
import { type Email, type EmailEvent, findEmail, recordEmailEvent } from "../domain/emails.ts";
import { parseJsonObject } from "../http/bodies/fields.ts";
import { createJsonPassthrough } from "../http/reply.ts";
import type { Transaction, View } from "../store/port.ts";
import { emitEvent, systemPerformer } from "../webhooks/emit.ts";
import type { ClusterContext, ForwardedHandler } from "./context.ts";
import { readContractFacts } from "./contracts/records.ts";
import { type Contract, contracts } from "./contracts/rows.ts";

/** An event of the e-mail provider. Its other keys depend on its type. */
const Event = z.looseObject({
  RecordType: z.string(),
  Metadata: dictionary(z.string()),
  /** Address of a delivery, an opening or a click. A bounce and a complaint have `Email` instead. */
  Recipient: z.string().optional(),
  Email: z.string().optional(),
  OriginalLink: z.string().optional(),
  Description: z.string().optional(),
});

/** Accepts the reports of the e-mail provider, and emits their effects (DECISIONS.md, R27). */
export const acceptMailerEvent: ForwardedHandler = async ({ body }, { store, clock, cluster }, finding) => {
  const parsed = Event.safeParse(parseJsonObject(body));
  if (!parsed.success) {
    finding("unreadable-mailer-event", "RecordType is missing, or a key has a type that the provider does not send");
    return createJsonPassthrough(200, {});
  }
  const { RecordType: type, Metadata, Recipient, Email: address, OriginalLink, Description } = parsed.data;
  if (!isMailerEvent(type)) {
    finding("unknown-mailer-event", `${type.slice(0, 100)} is not one of ${Object.keys(mailerEvents).join(", ")}`);
    return createJsonPassthrough(200, {});
  }
  await store.transaction("mailer.webhook", (tx) => {
    const { email_id, contract_id, purpose, recipient } = Metadata;
    const selector = { email_id, contract_id, purpose, recipient: recipient ?? Recipient ?? address };
    const email = findEmail(tx, { ...selector, cluster_id: cluster.id });
    if (!email) return finding("unknown-email", `${cluster.id} sent no e-mail that matches the Metadata`);
    emitEmailEvent(tx, clock, email, { type, detail: (OriginalLink ?? Description)?.slice(0, 1_000) ?? null });
  });
  return createJsonPassthrough(200, {});
};

const isMailerEvent = (type: string): type is MailerEvent => Object.hasOwn(mailerEvents, type);

/** Returns the data of the nine e-mail activities. `occured_at` has this spelling on the wire (DECISIONS.md, F21). */
export const buildEmailEventData = (
  { recipient, mode }: Pick<Email, "recipient" | "mode">,
  at: number,
): Readonly<Record<string, unknown>> => ({
  email_event_data: { recipient_email: recipient, email_mode: mode, occured_at: toIsoMicros(at) },
});

/** An e-mail about a contract has a second activity (DECISIONS.md, R27). A deleted contract emits nothing. */
export function emitEmailEvent(tx: Transaction, clock: Clock, email: Email, event: Omit<EmailEvent, "at">) {
  const at = clock.now();
  recordEmailEvent(tx, email, { ...event, at });
  const { workspace_id, contract_id, purpose } = email;
  if (workspace_id === null) return;
  const row = contract_id === null ? undefined : tx.get(contracts, contract_id);
  if (contract_id !== null && (!row || row.deleted_at !== null)) return;
  const common = { workspace_id, at, performed_by: systemPerformer, contract: row && readContractFacts(tx, row) };
  const data = buildEmailEventData(email, at);
  const mailer_event = { type: event.type, purpose };
  emitEvent(tx, clock, { ...common, activity: "MAILER_EMAIL_EVENT", data: { ...data, mailer_event } });
  if (purpose !== "signing" && purpose !== "redlining") return;
  const kind = purpose === "signing" ? "SIGNING" : "REDLINING";
  emitEvent(tx, clock, { ...common, activity: `${kind}_EMAIL_${mailerEvents[event.type]}`, data });
}

/** Reports whether the provider has already reported a delivery or its failure. */
export const hasDeliveryOutcome = ({ events }: Email): boolean =>
  events.some(({ type }) => ["DELIVERED", "NOT_DELIVERED"].includes(mailerEvents[type]));

/** Records a click, once, on the newest e-mail to the person about the contract (DECISIONS.md, C23). */
export async function recordLinkClick(
  { store, clock }: Pick<ClusterContext, "store" | "clock">,
  { id, cluster_id }: Contract,
  recipient: string,
): Promise<void> {
  const findUnopened = (view: View): Email | undefined => {
    const email = findEmail(view, { cluster_id, contract_id: String(id), recipient });
    return email?.events.some(({ type }) => type === "Click") ? undefined : email;
  };
  if (!findUnopened(store)) return;
  await store.transaction("open the link of an e-mail", (tx) => {
    const email = findUnopened(tx);
    if (email) emitEmailEvent(tx, clock, email, { type: "Click", detail: email.path });
  });
}
