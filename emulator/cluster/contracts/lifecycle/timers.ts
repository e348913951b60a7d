import type { Move } from "../../../../src/api/contracts/lifecycle.ts";
import { contractKey, endContractEntries, enqueue } from "../../../clock/schedule.ts";
import type { Transaction } from "../../../store/port.ts";
import { sendEmail } from "../../../world/emails.ts";
import { inviteCounterparties } from "../../invitations/counterparties.ts";
import { personPath } from "../links.ts";
import type { Contract, Signatory } from "../rows.ts";
import { type Addressees, type Mail, redliningMails, signingMails } from "./email-events.ts";

/** The provider reports an e-mail as delivered this much after it was sent (DECISIONS.md, C11). */
const emailDeliveryMs = 60_000;

export interface Timing {
  readonly taken: Move;
  /** Whether the contract entered another state; timers belong to a state. */
  readonly leaves: boolean;
  readonly at: number;
  readonly autoSignMs: number | undefined;
  readonly invited: readonly Signatory[];
  readonly addressees?: Addressees | undefined;
}

/** Takes the contract's waiting entries out of the schedule (DECISIONS.md, C22). */
export const stopTimers = (tx: Transaction, { id }: Contract): Promise<void> => endContractEntries(tx, id);

/** Sends the e-mails of a move, and puts into the schedule what follows by itself from the state just entered. */
export async function startTimers(tx: Transaction, contract: Contract, timing: Timing): Promise<void> {
  const { taken, leaves, at, autoSignMs, invited, addressees } = timing;
  if (taken.sends === "signing") await send(tx, contract, signingMails(invited), at);
  if (taken.sends === "redlining") await send(tx, contract, redliningMails(contract, addressees), at);
  if (!leaves || contract.status !== "SIGN" || autoSignMs === undefined) return;
  for (const [i, { id }] of inOrder(contract).entries()) {
    timer(tx, contract, at + (i + 1) * autoSignMs, "auto-sign", id);
  }
}

/**
 * Sends e-mails of a contract: a row each, and an entry of the schedule for the time at which each is delivered. They
 * invite the people of the other side.
 */
export async function send(tx: Transaction, contract: Contract, mails: readonly Mail[], at: number): Promise<void> {
  const { id: contract_id, cluster_id, workspace_id } = contract;
  const people = mails.flatMap(({ recipient: email, invites: name }) => (name === undefined ? [] : { email, name }));
  const tokens = await inviteCounterparties(tx, contract, people, at);
  for (const { invites: _, ...mail } of mails) {
    const path = await personPath(tx, contract, mail.recipient);
    const token = tokens.get(mail.recipient) ?? null;
    const { id } = sendEmail(tx, { ...mail, path, token, contract_id, cluster_id, workspace_id, sent_at: at });
    timer(tx, contract, at + emailDeliveryMs, "email-delivery", id);
  }
}

const timer = (tx: Transaction, { id }: Contract, due: number, kind: string, ref: number): void =>
  void enqueue(tx, { due, kind, concurrency_key: contractKey(id), ref: `${id} ${ref}` });

const inOrder = ({ signatories }: Contract) =>
  signatories
    .filter((signatory) => signatory.action === null)
    .toSorted((a, b) => (a.sign_order ?? 0) - (b.sign_order ?? 0));
