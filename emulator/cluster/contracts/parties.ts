import type * as z from "zod";
import type { Address } from "../../../src/api/contracts/shapes.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Entity, Workspace } from "../../domain/workspaces.ts";
import type { Transaction } from "../../store/port.ts";
import type { Performer } from "../../webhooks/emit.ts";
import type { NewAddress } from "../counterparties/contacts.ts";
import { resolveCounterparties } from "../counterparties/resolve-counterparties.ts";
import type { Counterparty, CounterpartyChange } from "../counterparties/rows.ts";
import { emitContractEvent } from "./access.ts";
import { storeContractChange } from "./creation/new-contract.ts";
import { formatFullName } from "./records.ts";
import { type Contract, contracts, type Party } from "./rows.ts";

/** A counterparty in a request. */
export type PartyInput = Omit<Party, "counterparty_id">;

/** The parties of a contract, with the changes to the workspace's list of counterparties. */
export interface ResolvedParties {
  readonly parties: readonly Party[];
  readonly changes: readonly CounterpartyChange[];
}

/** The parties of a contract, each with its row in the workspace's list of counterparties. */
export async function resolveParties(
  tx: Transaction,
  given: readonly PartyInput[],
  workspace: Workspace,
  at: number,
): Promise<ResolvedParties> {
  const named = given.map(({ name, is_individual, organization_type, poc, organization_details }) => ({
    name,
    is_individual,
    organization_type,
    contact: poc && { name: formatFullName(poc), email: poc.email },
    address: toAddress(organization_details, workspace),
  }));
  const { ids, changes } = await resolveCounterparties(tx, named, { workspaceId: workspace.id, at });
  return { parties: given.map((party, i) => ({ ...party, counterparty_id: ids[i]! })), changes };
}

/**
 * The address in `organization_details`, in the form of the list of counterparties. Its other keys are stored in the
 * contract.
 */
function toAddress(details: PartyInput["organization_details"], { jurisdictions }: Workspace): NewAddress | null {
  const address = details?.address as z.output<typeof Address> | undefined;
  if (!address) return null;
  const { line_one, line_two, city, state, zipcode, country, country_iso_code, email, phone } = address;
  const named = jurisdictions.find(({ iso_code }) => iso_code === country_iso_code)?.name;
  return {
    line_one: line_two ? `${line_one}, ${line_two}` : line_one,
    city_name: city,
    state_name: state,
    zipcode,
    country_name: country ?? named ?? country_iso_code,
    email,
    phone,
  };
}

/** The party in the `counterparty_…` fields of an upload, or undefined. */
export function parsePartyFields({
  counterparty_organization_name: name,
  counterparty_is_individual,
  counterparty_poc_details: poc,
}: {
  readonly counterparty_organization_name?: string | null | undefined;
  readonly counterparty_is_individual?: boolean | null | undefined;
  readonly counterparty_poc_details?: PartyInput["poc"] | undefined;
}): PartyInput | undefined {
  const called = name ?? (poc ? formatFullName(poc) : undefined);
  if (called === undefined) return undefined;
  return {
    name: called,
    is_individual: counterparty_is_individual ?? name == null,
    organization_type: null,
    poc: poc ?? null,
    organization_details: null,
  };
}

interface PartyContext {
  readonly clock: Clock;
  readonly by: Performer;
}

/** Whether the parties of a contract may still change, which is before it can be signed. */
export const isOpen = ({ status }: Contract): boolean => status === "DRAFT" || status === "REDLINING";

/** Assigns an entity to the contract and emits that, unless it is assigned already (DECISIONS.md, C23). */
export async function replaceEntity(
  tx: Transaction,
  context: PartyContext,
  row: Contract,
  { id }: Entity,
): Promise<Contract> {
  return row.entity_id === id ? row : saveEntityChange(tx, context, row, { entity_id: id });
}

/** Renames a counterparty in its open contracts, and emits each change. */
export async function renameParty(tx: Transaction, context: PartyContext, { id, name }: Counterparty): Promise<void> {
  for (const row of await tx.list(contracts, { by: "counterparty", equals: id })) {
    const party = row.counterparties.find(({ counterparty_id }) => counterparty_id === id);
    if (!party || party.name === name || !isOpen(row)) continue;
    const before = new Set(row.counterparties.flatMap((each) => (each.counterparty_id === id ? each.name : [])));
    await saveEntityChange(tx, context, row, {
      counterparties: row.counterparties.map((each) => (each.counterparty_id === id ? { ...each, name } : each)),
      signatories: row.signatories.map((each) =>
        before.has(each.counterparty_name ?? "") ? { ...each, counterparty_name: name } : each,
      ),
    });
  }
}

async function saveEntityChange(tx: Transaction, context: PartyContext, row: Contract, change: Partial<Contract>) {
  const at = context.clock.now();
  const after = storeContractChange(tx, row, at, change);
  await emitContractEvent(tx, { ...context, at }, "CONTRACT_ENTITY_UPDATED", after);
  return after;
}
