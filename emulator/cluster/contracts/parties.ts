import type * as z from "zod";
import type { OrganizationAddress } from "../../../src/api/contracts/shapes.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
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
import { emitContractEvent, formatFullName } from "./records.ts";
import { type Contract, type ContractParty, contracts, storeContractChange } from "./rows.ts";

export type PartyInput = Omit<ContractParty, "counterparty_id">;

/** Creates unknown counterparties and adds new contacts, each once (DECISIONS.md, C8 to C10). */
export function resolveParties(tx: Transaction, inputs: readonly PartyInput[], workspace: Workspace, at: number) {
  const drafts = new Map<string, CounterpartyDraft>();
  const parties: ContractParty[] = [];
  for (const party of inputs) {
    const { name, is_individual, poc } = party;
    const key = `${is_individual} ${toNameKey(workspace.id, name)}`;
    const draft = drafts.get(key) ?? findOrCreateCounterparty(tx, party, workspace, at);
    drafts.set(key, draft);
    if (poc) addContact(tx, draft, { name: formatFullName(poc), email: poc.email });
    parties.push({ ...party, counterparty_id: draft.row.id });
  }
  const changes = [...drafts.values()].flatMap(({ row, isNew, addedContacts }): CounterpartyChange[] => {
    if (!isNew && addedContacts.length === 0) return [];
    const after = { ...row, contacts: [...row.contacts, ...addedContacts] };
    tx.put(counterparties, after);
    return [{ row: after, ...(!isNew && { addedContacts }) }];
  });
  return { parties, changes };
}

interface CounterpartyDraft {
  readonly row: Counterparty;
  readonly isNew: boolean;
  readonly addresses: Set<string>;
  readonly addedContacts: CounterpartyContact[];
}

function findOrCreateCounterparty(
  tx: Transaction,
  { name, is_individual, organization_type, organization_details }: PartyInput,
  workspace: Workspace,
  at: number,
): CounterpartyDraft {
  const namesakes = tx.list(counterparties, { by: "name", equals: toNameKey(workspace.id, name) });
  const existing = namesakes.find((each) => each.is_individual === is_individual && each.status !== "ARCHIVED");
  if (existing) {
    const addresses = new Set(existing.contacts.map(({ email }) => toAddressKey(email)));
    return { row: existing, isNew: false, addresses, addedContacts: [] };
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
  return { row, isNew: true, addresses: new Set(), addedContacts: [] };
}

function addContact(
  tx: Transaction,
  { addresses, addedContacts }: CounterpartyDraft,
  contact: Pick<CounterpartyContact, "name" | "email">,
) {
  const address = toAddressKey(contact.email);
  if (addresses.has(address)) return;
  addedContacts.push({ id: tx.next("counterparty_contact"), ...contact, is_primary: addresses.size === 0 });
  addresses.add(address);
}

/** The other keys of `organization_details` are stored in the contract. */
function toAddress(
  details: PartyInput["organization_details"],
  { jurisdictions }: Workspace,
): NewCounterpartyAddress | null {
  const address = details?.address as z.output<typeof OrganizationAddress> | undefined;
  if (!address) return null;
  const { line_one, line_two, city, state, zipcode, country, country_iso_code, email, phone } = address;
  const jurisdictionName = jurisdictions.find(({ iso_code }) => iso_code === country_iso_code)?.name;
  return {
    line_one: line_two ? `${line_one}, ${line_two}` : line_one,
    city_name: city,
    state_name: state,
    zipcode,
    country_name: country ?? jurisdictionName ?? country_iso_code,
    email,
    phone,
  };
}

/** Returns undefined if the upload names no counterparty. */
export function parsePartyFields({
  counterparty_organization_name: name,
  counterparty_is_individual,
  counterparty_poc_details: poc,
}: {
  readonly counterparty_organization_name?: string | null | undefined;
  readonly counterparty_is_individual?: boolean | null | undefined;
  readonly counterparty_poc_details?: PartyInput["poc"] | undefined;
}): PartyInput | undefined {
  const partyName = name ?? (poc ? formatFullName(poc) : undefined);
  if (partyName === undefined) return undefined;
  return {
    name: partyName,
    is_individual: counterparty_is_individual ?? name == null,
    organization_type: null,
    poc: poc ?? null,
    organization_details: null,
  };
}

interface PartyContext {
  readonly clock: Clock;
  readonly performer: Performer;
}

/** The parties are fixed once the contract can be signed. */
export const isContractEditable = ({ status }: Contract): boolean => status === "DRAFT" || status === "REDLINING";

/** Emits the change, unless the entity is already assigned (DECISIONS.md, C23). */
export function replaceEntity(tx: Transaction, context: PartyContext, row: Contract, { id }: LegalEntity) {
  return row.entity_id === id ? row : saveEntityChange(tx, context, row, { entity_id: id });
}

/** Contracts whose parties are fixed keep the old name. */
export function renameParty(tx: Transaction, context: PartyContext, { id, name }: Counterparty): void {
  for (const row of tx.list(contracts, { by: "counterparty", equals: id })) {
    const party = row.counterparties.find(({ counterparty_id }) => counterparty_id === id);
    if (!party || party.name === name || !isContractEditable(row)) continue;
    const oldNames = new Set(row.counterparties.flatMap((each) => (each.counterparty_id === id ? each.name : [])));
    saveEntityChange(tx, context, row, {
      counterparties: row.counterparties.map((each) => (each.counterparty_id === id ? { ...each, name } : each)),
      signatories: row.signatories.map((each) =>
        oldNames.has(each.counterparty_name ?? "") ? { ...each, counterparty_name: name } : each,
      ),
    });
  }
}

function saveEntityChange(tx: Transaction, context: PartyContext, row: Contract, change: Partial<Contract>) {
  const at = context.clock.now();
  const after = storeContractChange(tx, row, at, change);
  emitContractEvent(tx, { ...context, at }, "CONTRACT_ENTITY_UPDATED", after);
  return after;
}
