import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import type { Transaction } from "../../store/port.ts";
import { createAddress, type NewAddress } from "./contacts.ts";
import { type Contact, type Counterparty, type CounterpartyChange, counterparties, toNameKey } from "./rows.ts";

/** A counterparty in a contract. */
export interface CounterpartyInput {
  readonly name: string;
  readonly is_individual: boolean;
  readonly organization_type: string | null;
  readonly contact: { readonly name: string; readonly email: string } | null;
  readonly address: NewAddress | null;
}

/**
 * The ids of the counterparties of a contract, in its order. Unknown ones are created with their addresses, and new
 * contacts are added. `changes` are emitted before the contract (DECISIONS.md, C8 to C10). A party that is named
 * repeatedly is looked up and written once.
 */
export async function resolveCounterparties(
  tx: Transaction,
  parties: readonly CounterpartyInput[],
  { workspaceId, at }: { readonly workspaceId: number; readonly at: number },
): Promise<{ readonly ids: readonly number[]; readonly changes: readonly CounterpartyChange[] }> {
  const rows = new Map<string, CounterpartyBuilder>();
  const ids: number[] = [];
  for (const party of parties) {
    const equals = toNameKey(workspaceId, party.name);
    const which = `${party.is_individual} ${equals}`;
    let row = rows.get(which);
    if (!row) {
      const found = await tx.list(counterparties, { by: "name", equals });
      const known = found.find((each) => each.is_individual === party.is_individual && each.status !== "ARCHIVED");
      row = new CounterpartyBuilder(
        tx,
        known ?? createCounterpartyRow(tx, party, workspaceId, at),
        known === undefined,
      );
      rows.set(which, row);
    }
    if (party.contact) row.add(party.contact);
    ids.push(row.id);
  }
  return { ids, changes: [...rows.values()].flatMap((row) => row.store() ?? []) };
}

/** A counterparty to which contacts are added. */
class CounterpartyBuilder {
  readonly #tx: Transaction;
  readonly #row: Counterparty;
  readonly #addresses: Set<string>;
  readonly #added: Contact[] = [];
  readonly #isNew: boolean;

  constructor(tx: Transaction, row: Counterparty, isNew: boolean) {
    this.#tx = tx;
    this.#row = row;
    this.#isNew = isNew;
    this.#addresses = new Set(row.contacts.map(({ email }) => toAddressKey(email)));
  }

  get id(): number {
    return this.#row.id;
  }

  /** Does nothing if it already has a contact with that address. */
  add(contact: NonNullable<CounterpartyInput["contact"]>): void {
    const address = toAddressKey(contact.email);
    if (this.#addresses.has(address)) return;
    const is_primary = this.#addresses.size === 0;
    this.#addresses.add(address);
    this.#added.push({ id: this.#tx.next("counterparty_contact"), ...contact, is_primary });
  }

  /** Undefined if nothing has changed. */
  store(): CounterpartyChange | undefined {
    if (!this.#isNew && this.#added.length === 0) return undefined;
    const row = { ...this.#row, contacts: [...this.#row.contacts, ...this.#added] };
    this.#tx.put(counterparties, row);
    const contacts = this.#added.map(({ id }) => ({ contact_id: id }));
    const addresses = this.#isNew ? row.addresses.map(({ id }) => ({ address_id: id })) : [];
    return { row, isNew: this.#isNew, parts: [...contacts, ...addresses] };
  }
}

const createCounterpartyRow = (
  tx: Transaction,
  { name, is_individual, organization_type, address }: CounterpartyInput,
  workspace_id: number,
  at: number,
): Counterparty => ({
  workspace_id,
  name,
  is_individual,
  organization_type,
  id: tx.next("counterparty"),
  brand_name: null,
  contacts: [],
  addresses: address ? [createAddress(tx, address, true)] : [],
  custom_fields: {},
  status: "ACTIVE",
  created_at: at,
});
