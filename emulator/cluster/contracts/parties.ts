import type { Transaction } from "../../store/port.ts";
import type { Workspace } from "../../world/workspaces.ts";
import { counterpartiesNamed } from "../counterparties/named.ts";
import type { Party } from "./rows.ts";

/** A party of the other side as a request names it. */
export type PartyInput = Omit<Party, "counterparty_id">;

/** The parties of a contract, each with its row in the workspace's list of counterparties. */
export async function partiesOf(
  tx: Transaction,
  given: readonly PartyInput[],
  workspace: Workspace,
  at: number,
): Promise<Party[]> {
  const named = given.map(({ name, is_individual, organization_type, poc }) => ({
    name,
    is_individual,
    organization_type,
    contact: poc && { name: fullName(poc), email: poc.email },
  }));
  const ids = await counterpartiesNamed(tx, named, { workspaceId: workspace.id, at });
  return given.map((party, i) => ({ ...party, counterparty_id: ids[i]! }));
}

export const fullName = ({
  first_name,
  last_name,
}: {
  readonly first_name: string;
  readonly last_name: string;
}): string => `${first_name} ${last_name}`.trim();

/** The party that the `counterparty_…` fields of an upload name; undefined when they name nobody. */
export function partyOfFields({
  counterparty_organization_name: name,
  counterparty_is_individual,
  counterparty_poc_details: poc,
}: {
  readonly counterparty_organization_name?: string | null | undefined;
  readonly counterparty_is_individual?: boolean | null | undefined;
  readonly counterparty_poc_details?: PartyInput["poc"] | undefined;
}): PartyInput | undefined {
  const called = name ?? (poc ? fullName(poc) : undefined);
  if (called === undefined) return undefined;
  return {
    name: called,
    is_individual: counterparty_is_individual ?? name == null,
    organization_type: null,
    poc: poc ?? null,
    organization_details: null,
  };
}
