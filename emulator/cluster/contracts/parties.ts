import type * as z from "zod";
import type { Address } from "../../../src/api/contracts/shapes.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import type { LegalEntity, Workspace } from "../../domain/workspaces.ts";
import type { Transaction } from "../../store/port.ts";
import type { Performer } from "../../webhooks/emit.ts";
import { createCounterpartyAddress, type NewCounterpartyAddress } from "../counterparties/contacts.ts";
import {
  type Counterparty,
  type CounterpartyChange,
  type CounterpartyContact,
  counterparties,
  toNameKey,
} from "../counterparties/rows.ts";
import { storeContractChange } from "./creation/new-contract.ts";
import { emitContractEvent, formatFullName } from "./records.ts";
import { type Contract, type ContractParty, contracts } from "./rows.ts";

export type PartyInput = Omit<ContractParty, "counterparty_id">;

/** The parties of a contract, with the changes to the workspace's list of counterparties. */
export interface ResolvedParties {
  readonly parties: readonly ContractParty[];
  readonly changes: readonly CounterpartyChange[];
}

/**
 * Returns the parties of a contract, each with its row in the workspace's list of counterparties. Unknown
 * counterparties are created with their addresses, and new contacts are added (DECISIONS.md, C8 to C10). A party that
 * is named repeatedly is looked up and written once.
 */
export async function resolveParties(
  tx: Transaction,
  given: readonly PartyInput[],
  workspace: Workspace,
  at: number,
): Promise<ResolvedParties> {
  const found = new Map<string, CounterpartyDraft>();
  const parties: ContractParty[] = [];
  for (const party of given) {
    const { name, is_individual, poc } = party;
    const key = `${is_individual} ${toNameKey(workspace.id, name)}`;
    const draft = found.get(key) ?? (await findOrCreateCounterparty(tx, party, workspace, at));
    found.set(key, draft);
    if (poc) addContact(tx, draft, { name: formatFullName(poc), email: poc.email });
    parties.push({ ...party, counterparty_id: draft.row.id });
  }
  const changes = [...found.values()].flatMap(({ row, isNew, added }) => {
    if (!isNew && added.length === 0) return [];
    const after = { ...row, contacts: [...row.contacts, ...added] };
    tx.put(counterparties, after);
    const contacts = added.map(({ id }) => ({ contact_id: id }));
    const addresses = isNew ? row.addresses.map(({ id }) => ({ address_id: id })) : [];
    return [{ row: after, isNew, parts: [...contacts, ...addresses] }];
  });
  return { parties, changes };
}

interface CounterpartyDraft {
  readonly row: Counterparty;
  readonly isNew: boolean;
  readonly addresses: Set<string>;
  readonly added: CounterpartyContact[];
}

async function findOrCreateCounterparty(
  tx: Transaction,
  { name, is_individual, organization_type, organization_details }: PartyInput,
  workspace: Workspace,
  at: number,
): Promise<CounterpartyDraft> {
  const namesakes = await tx.list(counterparties, { by: "name", equals: toNameKey(workspace.id, name) });
  const known = namesakes.find((each) => each.is_individual === is_individual && each.status !== "ARCHIVED");
  if (known) {
    const addresses = new Set(known.contacts.map(({ email }) => toAddressKey(email)));
    return { row: known, isNew: false, addresses, added: [] };
  }
  const address = toAddress(organization_details, workspace);
  const row: Counterparty = {
    workspace_id: workspace.id,
    name,
    is_individual,
    organization_type,
    id: tx.next("counterparty"),
    brand_name: null,
    contacts: [],
    addresses: address ? [createCounterpartyAddress(tx, address, true)] : [],
    custom_fields: {},
    status: "ACTIVE",
    created_at: at,
  };
  return { row, isNew: true, addresses: new Set(), added: [] };
}

/** Does nothing if the counterparty already has a contact with that address. */
function addContact(
  tx: Transaction,
  { addresses, added }: CounterpartyDraft,
  contact: Pick<CounterpartyContact, "name" | "email">,
): void {
  const address = toAddressKey(contact.email);
  if (addresses.has(address)) return;
  added.push({ id: tx.next("counterparty_contact"), ...contact, is_primary: addresses.size === 0 });
  addresses.add(address);
}

/**
 * Returns the address in `organization_details` in the form of the list of counterparties. Its other keys are stored in
 * the contract.
 */
function toAddress(
  details: PartyInput["organization_details"],
  { jurisdictions }: Workspace,
): NewCounterpartyAddress | null {
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

/** Returns the party in the `counterparty_…` fields of an upload, or undefined. */
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

/** Reports whether the parties of a contract can still change. They are fixed once the contract can be signed. */
export const isContractEditable = ({ status }: Contract): boolean => status === "DRAFT" || status === "REDLINING";

/**
 * Assigns an entity to the contract and emits the change, unless the entity is already assigned (DECISIONS.md, C23).
 */
export async function replaceEntity(
  tx: Transaction,
  context: PartyContext,
  row: Contract,
  { id }: LegalEntity,
): Promise<Contract> {
  return row.entity_id === id ? row : saveEntityChange(tx, context, row, { entity_id: id });
}

/** Renames a counterparty in its open contracts, and emits each change. */
export async function renameParty(tx: Transaction, context: PartyContext, { id, name }: Counterparty): Promise<void> {
  for (const row of await tx.list(contracts, { by: "counterparty", equals: id })) {
    const party = row.counterparties.find(({ counterparty_id }) => counterparty_id === id);
    if (!party || party.name === name || !isContractEditable(row)) continue;
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
