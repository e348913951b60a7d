import type { Activity } from "../../../../src/api/activities.ts";
import { isoMicros } from "../../../../src/base/clock.ts";
import type { Contract, Signatory } from "../rows.ts";

/** Whom an e-mail to the counterparty goes to. */
export interface Addressees {
  readonly to?: readonly string[] | undefined;
  readonly cc?: readonly string[] | undefined;
}

/** The addresses of the counterparties' contacts, unless the caller named others. */
const counterpartyAddresses = (contract: Contract, addressees?: Addressees): readonly string[] =>
  addressees?.to?.length ? addressees.to : contract.counterparties.flatMap((party) => party.poc?.email ?? []);

/** An e-mail as its provider reports it: whom it went to, and whether as a copy (DECISIONS.md, F21). */
export interface Mail {
  readonly recipient: string;
  readonly mode: "to" | "cc";
}
const mailTo = (recipient: string): Mail => ({ recipient, mode: "to" });

/** The e-mails that go to signatories whose turn has come; a copy goes to nobody (DECISIONS.md, C11). */
export const signingMails = (invited: readonly Signatory[]): readonly Mail[] =>
  invited.map(({ email }) => mailTo(email));

/** The e-mails by which a contract is shared with the counterparties. */
export const redliningMails = (contract: Contract, addressees?: Addressees): readonly Mail[] => [
  ...counterpartyAddresses(contract, addressees).map(mailTo),
  ...(addressees?.cc ?? []).map((recipient) => ({ recipient, mode: "cc" as const })),
];

/**
 * The further keys of `activity_data`, once for each time that the activity is told (DECISIONS.md, F21): most
 * activities once and without any, a notification once for each signatory who is invited.
 */
export function dataPerPerson(
  activity: Activity,
  contract: Contract,
  { invited, addressees }: { readonly invited: readonly Signatory[]; readonly addressees?: Addressees | undefined },
): readonly Readonly<Record<string, unknown>>[] {
  switch (activity) {
    case "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT":
      return invited.map(({ name, email }) => ({ signatory: { name, email } }));
    case "CONTRACT_SENT_TO_COUNTERPARTY":
      return [
        {
          counterparty_email_recipients: {
            to_recipients: counterpartyAddresses(contract, addressees),
            cc_recipients: addressees?.cc ?? [],
          },
        },
      ];
    default:
      return [{}];
  }
}

/** The key of the eight e-mail activities; `occured_at` is spelled so on the wire. */
export const emailEventData = ({ recipient, mode }: Mail, at: number): Readonly<Record<string, unknown>> => ({
  email_event_data: { recipient_email: recipient, email_mode: mode, occured_at: isoMicros(at) },
});
