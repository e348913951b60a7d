import type { Transaction } from "../../store/port.ts";
import { type Contact, type Counterparty, counterparties, nameKey } from "./rows.ts";

/** A party of the other side as a contract names it. */
export interface NamedParty {
  readonly name: string;
  readonly is_individual: boolean;
  readonly organization_type: string | null;
  readonly contact: { readonly name: string; readonly email: string } | null;
}

/**
 * The ids of the counterparties that a contract names, in its order: those in the workspace's list, else new ones; with
 * the contacts that they did not have. No activity is told, since DECISIONS.md, C8 and C9, lists all that creating a
 * contract tells. However often a party is named, its row is looked up and written once.
 */
export async function counterpartiesNamed(
  tx: Transaction,
  parties: readonly NamedParty[],
  { workspaceId, at }: { readonly workspaceId: number; readonly at: number },
): Promise<number[]> {
  const rows = new Map<string, GrowingCounterparty>();
  const ids: number[] = [];
  for (const party of parties) {
    const equals = nameKey(workspaceId, party.name);
    const which = `${party.is_individual} ${equals}`;
    let row = rows.get(which);
    if (!row) {
      const found = await tx.list(counterparties, { by: "name", equals });
      const known = found.find((each) => each.is_individual === party.is_individual && each.status !== "ARCHIVED");
      row = new GrowingCounterparty(tx, known ?? newCounterparty(tx, party, workspaceId, at), known !== undefined);
      rows.set(which, row);
    }
    if (party.contact) row.add(party.contact);
    ids.push(row.id);
  }
  for (const row of rows.values()) row.store();
  return ids;
}

/** A counterparty to which contacts are added, one by one. */
class GrowingCounterparty {
  readonly #tx: Transaction;
  readonly #row: Counterparty;
  readonly #addresses: Set<string>;
  readonly #added: Contact[] = [];
  readonly #isStored: boolean;

  constructor(tx: Transaction, row: Counterparty, isStored: boolean) {
    this.#tx = tx;
    this.#row = row;
    this.#isStored = isStored;
    this.#addresses = new Set(row.contacts.map(({ email }) => email.toLowerCase()));
  }

  get id(): number {
    return this.#row.id;
  }

  /** Does nothing where it has a contact of that address. */
  add(contact: NonNullable<NamedParty["contact"]>): void {
    const address = contact.email.toLowerCase();
    if (this.#addresses.has(address)) return;
    const is_primary = this.#addresses.size === 0;
    this.#addresses.add(address);
    this.#added.push({ id: this.#tx.next("counterparty_contact"), ...contact, is_primary });
  }

  store(): void {
    if (this.#isStored && this.#added.length === 0) return;
    this.#tx.put(counterparties, { ...this.#row, contacts: [...this.#row.contacts, ...this.#added] });
  }
}

const newCounterparty = (
  tx: Transaction,
  { name, is_individual, organization_type }: NamedParty,
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
  addresses: [],
  custom_fields: {},
  status: "ACTIVE",
  created_at: at,
});
