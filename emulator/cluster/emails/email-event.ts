import { mailerEvents } from "../../../src/api/mailer-events.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { isoMicros } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import { SYSTEM } from "../../webhooks/payload.ts";
import { type Email, type EmailEvent, recordEvent } from "../../world/emails.ts";
import { contractFacts } from "../contracts/facts.ts";
import { contracts } from "../contracts/rows.ts";

/** The key of the nine e-mail activities; `occured_at` is spelled so on the wire (DECISIONS.md, F21). */
export const emailEventData = (
  { recipient, mode }: Pick<Email, "recipient" | "mode">,
  at: number,
): Readonly<Record<string, unknown>> => ({
  email_event_data: { recipient_email: recipient, email_mode: mode, occured_at: isoMicros(at) },
});

/**
 * Records what the provider reports of an e-mail, and tells the activities: of the event, and of what it means where the
 * e-mail is about a contract (DECISIONS.md, R27). Of a contract that is deleted nothing is told.
 */
export async function tellEmailEvent(
  tx: Transaction,
  clock: Clock,
  email: Email,
  event: Omit<EmailEvent, "at">,
): Promise<void> {
  const at = clock.now();
  recordEvent(tx, email, { ...event, at });
  const { workspace_id, contract_id, purpose } = email;
  if (workspace_id === null) return;
  const row = contract_id === null ? undefined : await tx.get(contracts, contract_id);
  if (contract_id !== null && (!row || row.deleted_at !== null)) return;
  const told = { workspace_id, at, performed_by: SYSTEM, contract: row && (await contractFacts(tx, row)) };
  const data = emailEventData(email, at);
  const mailer_event = { type: event.type, purpose };
  await emit(tx, clock, { ...told, activity: "MAILER_EMAIL_EVENT", data: { ...data, mailer_event } });
  if (purpose !== "signing" && purpose !== "redlining") return;
  const kind = purpose === "signing" ? "SIGNING" : "REDLINING";
  await emit(tx, clock, { ...told, activity: `${kind}_EMAIL_${mailerEvents[event.type]}`, data });
}

/** Whether the provider has said already that an e-mail came, or that it did not. */
export const isSettled = ({ events }: Email): boolean =>
  events.some(({ type }) => ["DELIVERED", "NOT_DELIVERED"].includes(mailerEvents[type]));
