import type { Activity } from "../../../../src/api/activities.ts";
import type { Email } from "../../../domain/emails.ts";
import { findPartyOfContact } from "../links.ts";
import { formatFullName } from "../records.ts";
import type { Contract, Signatory } from "../rows.ts";

/** Recipients of an e-mail to the counterparty. */
export interface Addressees {
  readonly to?: readonly string[] | undefined;
  readonly cc?: readonly string[] | undefined;
}

/** The addresses of the counterparties' contacts, unless the caller named others. */
const listCounterpartyAddresses = (contract: Contract, addressees?: Addressees): readonly string[] =>
  addressees?.to?.length ? addressees.to : contract.counterparties.flatMap((party) => party.poc?.email ?? []);

/** An e-mail of a contract that is about to be sent, and not stored yet. */
export type Mail = Pick<Email, "purpose" | "recipient" | "mode"> & {
  /** Name of the invited counterparty contact. */
  readonly invites?: string;
};

/** The e-mails to signatories whose turn it is, without copies (DECISIONS.md, C11). */
export const listSigningMails = (invited: readonly Signatory[]): readonly Mail[] =>
  invited.map(({ email, name, is_counterparty }) => ({
    purpose: "signing",
    recipient: email,
    mode: "to",
    ...(is_counterparty && { invites: name }),
  }));

/** The name of a counterparty's contact. Of anyone else only the address is known. */
function getContactName(contract: Contract, email: string): string {
  const poc = findPartyOfContact(contract, email)?.poc;
  return poc ? formatFullName(poc) : email;
}

/** The e-mails that share a contract with the counterparties. */
export function listRedliningMails(contract: Contract, addressees?: Addressees): readonly Mail[] {
  const toMail = (recipient: string, mode: Email["mode"]): Mail => ({
    purpose: "redlining",
    recipient,
    mode,
    // Anyone can receive a copy.
    ...(mode === "to" && { invites: getContactName(contract, recipient) }),
  });
  return [
    ...listCounterpartyAddresses(contract, addressees).map((each) => toMail(each, "to")),
    ...(addressees?.cc ?? []).map((each) => toMail(each, "cc")),
  ];
}

/**
 * The other keys of `activity_data`, one object for each emission of the activity (DECISIONS.md, F21). Most activities
 * are emitted once without data, a notification once for each invited signatory.
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
            to_recipients: listCounterpartyAddresses(contract, addressees),
            cc_recipients: addressees?.cc ?? [],
          },
        },
      ];
    default:
      return [{}];
  }
}
