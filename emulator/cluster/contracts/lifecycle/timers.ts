import type { Activity } from "../../../../src/api/activities.ts";
import type { Move } from "../../../../src/api/contracts/lifecycle.ts";
import { enqueue, schedule } from "../../../clock/schedule.ts";
import type { Transaction } from "../../../store/port.ts";
import type { Contract } from "../rows.ts";
import { type Addressees, type Mail, redliningMails, signingMails } from "./email-events.ts";

/** The provider reports an e-mail as delivered this much after it was sent (DECISIONS.md, C11). */
const emailDeliveryMs = 60_000;

export interface Timing {
  readonly taken: Move;
  /** Whether the contract entered another state; timers belong to a state. */
  readonly leaves: boolean;
  readonly at: number;
  readonly autoSignMs: number | undefined;
  readonly addressees?: Addressees | undefined;
}

/** Takes the contract's waiting entries out of the schedule (DECISIONS.md, C22). */
export function stopTimers(tx: Transaction, contract: Contract): Contract {
  for (const id of contract.timers) tx.delete(schedule, String(id));
  return { ...contract, timers: [] };
}

/** Puts into the schedule what follows by itself from the state just entered. */
export function startTimers(tx: Transaction, contract: Contract, timing: Timing): Contract {
  const { taken, leaves, at, autoSignMs, addressees } = timing;
  const emails = (taken.later ?? []).flatMap((activity) =>
    mailsOf(activity, contract, addressees).map((mail) => delivered(tx, contract, activity, mail, at)),
  );
  const signs = leaves && contract.status === "SIGN" && autoSignMs !== undefined;
  const signatures = signs
    ? inOrder(contract).map(({ id }, i) => timer(tx, contract, at + (i + 1) * autoSignMs, "auto-sign", String(id)))
    : [];
  return { ...contract, timers: [...contract.timers, ...emails, ...signatures] };
}

/** The signing e-mail went out once more. */
export const remindLater = (tx: Transaction, contract: Contract, recipient: string, at: number): Contract => ({
  ...contract,
  timers: [...contract.timers, delivered(tx, contract, "SIGNING_EMAIL_DELIVERED", { recipient, mode: "to" }, at)],
});

const timer = (tx: Transaction, { id }: Contract, due: number, kind: string, ...ref: string[]): number =>
  enqueue(tx, { due, kind, concurrency_key: `contract ${id}`, ref: [id, ...ref].join(" ") }).id;

const delivered = (tx: Transaction, contract: Contract, activity: Activity, { recipient, mode }: Mail, at: number) =>
  timer(tx, contract, at + emailDeliveryMs, "contract-activity", activity, recipient, mode);

const inOrder = ({ signatories }: Contract) =>
  signatories
    .filter((signatory) => signatory.action === null)
    .toSorted((a, b) => (a.sign_order ?? 0) - (b.sign_order ?? 0));

const mailsOf = (activity: Activity, contract: Contract, addressees?: Addressees): readonly Mail[] =>
  activity.startsWith("SIGNING_") ? signingMails(contract) : redliningMails(contract, addressees);
