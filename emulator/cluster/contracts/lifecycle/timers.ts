import type { Activity } from "../../../../src/api/activities.ts";
import type { Move } from "../../../../src/api/contracts/lifecycle.ts";
import { contractKey, endContractEntries, enqueue } from "../../../clock/schedule.ts";
import type { Transaction } from "../../../store/port.ts";
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

/** Puts into the schedule what follows by itself from the state just entered. */
export function startTimers(tx: Transaction, contract: Contract, timing: Timing): void {
  const { taken, leaves, at, autoSignMs } = timing;
  for (const activity of taken.later ?? []) {
    for (const mail of mailsOf(activity, contract, timing)) delivered(tx, contract, activity, mail, at);
  }
  if (!leaves || contract.status !== "SIGN" || autoSignMs === undefined) return;
  for (const [i, { id }] of inOrder(contract).entries()) {
    timer(tx, contract, at + (i + 1) * autoSignMs, "auto-sign", String(id));
  }
}

/** The signing e-mail went out once more. */
export const remindLater = (tx: Transaction, contract: Contract, recipient: string, at: number): void =>
  delivered(tx, contract, "SIGNING_EMAIL_DELIVERED", { recipient, mode: "to" }, at);

const timer = (tx: Transaction, { id }: Contract, due: number, kind: string, ...ref: string[]): void =>
  void enqueue(tx, { due, kind, concurrency_key: contractKey(id), ref: [id, ...ref].join(" ") });

const delivered = (tx: Transaction, contract: Contract, activity: Activity, { recipient, mode }: Mail, at: number) =>
  timer(tx, contract, at + emailDeliveryMs, "contract-activity", activity, recipient, mode);

const inOrder = ({ signatories }: Contract) =>
  signatories
    .filter((signatory) => signatory.action === null)
    .toSorted((a, b) => (a.sign_order ?? 0) - (b.sign_order ?? 0));

const mailsOf = (activity: Activity, contract: Contract, { invited, addressees }: Timing): readonly Mail[] =>
  activity.startsWith("SIGNING_") ? signingMails(invited) : redliningMails(contract, addressees);
