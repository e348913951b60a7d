import type { Move } from "../../../../src/api/contracts/lifecycle.ts";
import { toAddressKey } from "../../../../src/base/email-address.ts";
import { enqueue, toContractKey } from "../../../clock/schedule.ts";
import { type Email, emails, sendEmail } from "../../../domain/emails.ts";
import type { Transaction } from "../../../store/port.ts";
import { hasDeliveryOutcome } from "../../emails.ts";
import { inviteCounterparties } from "../../invitations/invite.ts";
import { scheduleReport } from "../../reports/report.ts";
import { readRecipientLinks } from "../links.ts";
import { findPartyOfContact, formatFullName } from "../records.ts";
import type { Contract, ContractSignatory } from "../rows.ts";

/** Delay between sending an e-mail and the provider's delivery report (DECISIONS.md, C11). */
const emailDeliveryDelayMs = 60_000;

export interface TimerOptions {
  readonly appliedMove: Move;
  /** True if the contract entered another state. Timers belong to a state. */
  readonly hasNewState: boolean;
  readonly at: number;
  readonly autoSignMs: number | undefined;
  readonly invitees: readonly ContractSignatory[];
  readonly addressees?: Addressees | undefined;
}

/** Starts the timers, sends the e-mails of the move and schedules the cluster's reports. */
export function startTimers(tx: Transaction, contract: Contract, options: TimerOptions): void {
  const { appliedMove, hasNewState, at, autoSignMs, invitees, addressees } = options;
  const mails =
    appliedMove.sends === "signing"
      ? listSigningMails(invitees)
      : appliedMove.sends === "redlining"
        ? listRedliningMails(contract, addressees)
        : [];
  const isSent = appliedMove.sends !== undefined && hasNewState && contract.signatories.length > 0;
  sendContractEmails(tx, contract, mails, at, isSent);
  if (appliedMove.to === "held") scheduleReportTimers(tx, contract, at);
  if (!hasNewState || contract.status !== "SIGN" || autoSignMs === undefined) return;
  for (const [i, { id }] of sortSignatories(contract).entries()) {
    addTimer(tx, contract, at + (i + 1) * autoSignMs, "auto-sign", id);
  }
}

/** Schedules the deliveries and the report to the router. With `isSent` the report includes all signatories. */
export function sendContractEmails(
  tx: Transaction,
  contract: Contract,
  mails: readonly NewContractEmail[],
  at: number,
  isSent = false,
): void {
  const { id: contract_id, cluster_id, workspace_id } = contract;
  const people = mails.flatMap(({ recipient: email, invites: name }) => (name === undefined ? [] : { email, name }));
  const { tokens, isNew } = inviteCounterparties(tx, contract, people, at);
  if (isSent) scheduleReport(tx, "report-signatories", contract_id, at);
  else if (isNew) scheduleReport(tx, "report-invitations", contract_id, at);
  if (mails.length === 0) return;
  const links = readRecipientLinks(tx, contract);
  for (const { purpose, recipient, mode } of mails) {
    const path = links.buildPath(recipient);
    const token = tokens.get(recipient) ?? null;
    const contractIds = { cluster_id, workspace_id, contract_id };
    const { id } = sendEmail(tx, { ...contractIds, purpose, recipient, mode, path, token, sent_at: at });
    addTimer(tx, contract, at + emailDeliveryDelayMs, "email-delivery", id);
  }
}

/** After a hold, each person's newest e-mail gets a report if the contract still waits for that person. */
function scheduleReportTimers(tx: Transaction, contract: Contract, at: number): void {
  const { status, signatories, sent_for_signature_at, sent_to_counterparty_at } = contract;
  const [purpose, since] =
    status === "SIGN" ? ["signing", sent_for_signature_at] : ["redlining", sent_to_counterparty_at];
  if (since === null || (status !== "SIGN" && status !== "REDLINING")) return;
  const pendingPeople = new Set(
    signatories.flatMap(({ email, action }) => (action === null ? toAddressKey(email) : [])),
  );
  const newestEmailIds = new Map<string, number>();
  for (const email of tx.list(emails, { by: "contract", equals: contract.id })) {
    if (email.purpose !== purpose || email.sent_at < since) continue;
    const person = toAddressKey(email.recipient);
    newestEmailIds.delete(person);
    if (!hasDeliveryOutcome(email) && (purpose === "redlining" || pendingPeople.has(person)))
      newestEmailIds.set(person, email.id);
  }
  for (const id of newestEmailIds.values()) addTimer(tx, contract, at + emailDeliveryDelayMs, "email-delivery", id);
}

const addTimer = (tx: Transaction, { id, workspace_id }: Contract, due: number, kind: string, ref: number): void =>
  void enqueue(tx, { due, kind, concurrency_key: toContractKey(id), workspace_id, ref: `${id} ${ref}` });

const sortSignatories = ({ signatories }: Contract) =>
  signatories
    .filter((signatory) => signatory.action === null)
    .toSorted((a, b) => (a.sign_order ?? 0) - (b.sign_order ?? 0));

export interface Addressees {
  readonly to?: readonly string[] | undefined;
  readonly cc?: readonly string[] | undefined;
}

export const listCounterpartyAddresses = (contract: Contract, addressees?: Addressees): readonly string[] =>
  addressees?.to?.length ? addressees.to : contract.counterparties.flatMap((party) => party.poc?.email ?? []);

type NewContractEmail = Pick<Email, "purpose" | "recipient" | "mode"> & { readonly invites?: string };

/** Returns the e-mails to the next signatories, without copies (DECISIONS.md, C11). */
export const listSigningMails = (invitees: readonly ContractSignatory[]): readonly NewContractEmail[] =>
  invitees.map(({ email, name, is_counterparty }) => ({
    purpose: "signing",
    recipient: email,
    mode: "to",
    ...(is_counterparty && { invites: name }),
  }));

/** Returns the name of a counterparty's contact. Only the address of other people is available. */
function getContactName(contract: Contract, email: string): string {
  const poc = findPartyOfContact(contract, email)?.poc;
  return poc ? formatFullName(poc) : email;
}

function listRedliningMails(contract: Contract, addressees?: Addressees): readonly NewContractEmail[] {
  const toMail = (recipient: string, mode: Email["mode"]): NewContractEmail => ({
    purpose: "redlining",
    recipient,
    mode,
    // Any address can receive a copy.
    ...(mode === "to" && { invites: getContactName(contract, recipient) }),
  });
  return [
    ...listCounterpartyAddresses(contract, addressees).map((each) => toMail(each, "to")),
    ...(addressees?.cc ?? []).map((each) => toMail(each, "cc")),
  ];
}
