import { type Contract, compositeId } from "./rows.ts";

/** Where a contract is shown, at its cluster (DECISIONS.md, C25). */
export const contractPath = (contract: Contract): string => `/contracts/${compositeId(contract)}`;

/** Where a signatory signs. */
export const signatoryPath = (contract: Contract, signatoryId: number): string =>
  `${contractPath(contract)}?signatory=${signatoryId}`;

/** Where a contact of a counterparty sees the contract; for anybody else without a word of who they are. */
export function contactPath(contract: Contract, email: string): string {
  const party = partyOfContact(contract, email);
  return party ? `${contractPath(contract)}?counterparty=${party.counterparty_id}` : contractPath(contract);
}

export const partyOfContact = (
  { counterparties }: Contract,
  email: string,
): Contract["counterparties"][number] | undefined =>
  counterparties.find(({ poc }) => poc?.email.toLowerCase() === email.toLowerCase());
