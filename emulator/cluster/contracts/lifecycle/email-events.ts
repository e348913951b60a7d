import type { Activity } from "../../../../src/api/activities.ts";
import type { Email } from "../../../world/emails.ts";
import { partyOfContact } from "../links.ts";
import { fullName } from "../records.ts";
import type { Contract, Signatory } from "../rows.ts";

/** Recipients of an e-mail to the counterparty. */
export interface Addressees {
  readonly to?: readonly string[] | undefined;
  readonly cc?: readonly string[] | undefined;
}

/** The addresses of the counterparties' contacts, unless the caller named others. */
const counterpartyAddresses = (contract: Contract, addressees?: Addressees): readonly string[] =>
  addressees?.to?.length ? addressees.to : contract.counterparties.flatMap((party) => party.poc?.email ?? []);

/** An e-mail of a contract that is to be sent, not kept yet. */
export type Mail = Pick<Email, "purpose" | "recipient" | "mode"> & {
  /** Name of the invited person of the other side. */
  readonly invites?: string;
};

/** The e-mails to signatories whose turn has come; there are no copies (DECISIONS.md, C11). */
export const signingMails = (invited: readonly Signatory[]): readonly Mail[] =>
  invited.map(({ email, name, is_counterparty }) => ({
    purpose: "signing",
    recipient: email,
    mode: "to",
    ...(is_counterparty && { invites: name }),
  }));

/** The name of a counterparty's contact; of anyone else the address is all that is known. */
function nameOfContact(contract: Contract, email: string): string {
  const poc = partyOfContact(contract, email)?.poc;
  return poc ? fullName(poc) : email;
}

/** The e-mails by which a contract is shared with the counterparties. */
export function redliningMails(contract: Contract, addressees?: Addressees): readonly Mail[] {
  const mail = (recipient: string, mode: Email["mode"]): Mail => ({
    purpose: "redlining",
    recipient,
    mode,
    // Recipients of copies may be anyone.
    ...(mode === "to" && { invites: nameOfContact(contract, recipient) }),
  });
  return [
    ...counterpartyAddresses(contract, addressees).map((each) => mail(each, "to")),
    ...(addressees?.cc ?? []).map((each) => mail(each, "cc")),
  ];
}

/**
 * The further keys of `activity_data`, once for each emission of the activity (DECISIONS.md, F21): most activities once
 * and without any, a notification once for each invited signatory.
 */
export function createActivityDataPerPerson(
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
