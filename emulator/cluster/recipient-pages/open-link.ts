import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import type { User } from "../../domain/workspaces.ts";
import type { View } from "../../store/port.ts";
import { isPersonsKey } from "../contracts/links.ts";
import { formatFullName } from "../contracts/records.ts";
import { type Contract, contracts, formatCompositeId } from "../contracts/rows.ts";
import { findMemberByEmail } from "../workspace/users.ts";

/** A person who opened their own link. */
export interface Recipient {
  readonly name: string;
  readonly email: string;
}

/** A contract whose page was requested, and by whom. */
export interface OpenedContract {
  readonly contract: Contract;
  /** Undefined: anyone. */
  readonly person: Recipient | undefined;
}

/** Why a link is invalid. */
export type LinkProblem = "no-contract" | "not-theirs";

/** The requested cluster, and the parameters of the path and the query. */
export interface ContractLink {
  readonly cluster: string;
  readonly composite: string;
  readonly query: URLSearchParams;
}

/** Target of a link (DECISIONS.md, C25). */
export async function openLink(
  view: View,
  { cluster, composite, query }: ContractLink,
): Promise<OpenedContract | LinkProblem> {
  const contract = await view.get(contracts, Number(composite.slice(2)));
  const isHere = contract?.cluster_id === cluster && contract.deleted_at === null;
  if (!contract || !isHere || formatCompositeId(contract) !== composite) return "no-contract";
  const email = query.get("person");
  const key = query.get("key");
  if (email === null && key === null) return { contract, person: undefined };
  if (email === null || key === null || !(await isPersonsKey(view, contract, email, key))) return "not-theirs";
  const member = await findMemberByEmail(view, contract.workspace_id, email);
  return { contract, person: { name: findNameOnContract(contract, email, member), email: toAddressKey(email) } };
}

/** The person's name in the contract, or otherwise in the workspace. */
function findNameOnContract(
  { signatories, counterparties }: Contract,
  email: string,
  member: User | undefined,
): string {
  const hasAddress = (other: string) => toAddressKey(other) === toAddressKey(email);
  const contact = counterparties.find(({ poc }) => poc && hasAddress(poc.email))?.poc;
  return (
    signatories.find((each) => hasAddress(each.email))?.name ??
    (contact && formatFullName(contact)) ??
    member?.name ??
    toAddressKey(email)
  );
}
