import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import type { Address, AddressRequest } from "../../../src/api/contracts/counterparties.ts";
import { reply } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { paginateList } from "../response.ts";
import { formatRowNotFound } from "../workspace/workspace-rows.ts";
import {
  type Counterparty,
  type CounterpartyAddress,
  type CounterpartyContact,
  type CounterpartyEventContext,
  counterparties,
  emitCounterpartyEvent,
  ensureSinglePrimary,
  requireCounterparty,
} from "./rows.ts";

export const counterpartyContactHandlers = {
  "counterparty-contacts.list": ({ params, query }, { store, caller, fail }) =>
    store.read(async (view) => paginateList((await requireCounterparty(view, caller, params, fail)).contacts, query)),

  "counterparty-contacts.create": ({ params, body }, context) =>
    context.store.transaction("counterparty-contacts.create", async (tx) => {
      const row = await requireCounterparty(tx, context.caller, params, context.fail);
      // Every counterparty must have a primary contact.
      const is_primary = body.is_primary || row.contacts.length === 0;
      const contact = { id: tx.next("counterparty_contact"), name: body.name, email: body.email, is_primary };
      const after = { ...row, contacts: ensureSinglePrimary([...row.contacts, contact], contact) };
      tx.put(counterparties, after);
      await emitCounterpartyEvent(tx, context, "COUNTER_PARTY_CONTACT_CREATED", after, { contact_id: contact.id });
      return contact;
    }),

  "counterparty-contacts.update-many": ({ params, body }, context) =>
    context.store.transaction("counterparty-contacts.update-many", async (tx) => {
      const row = await requireCounterparty(tx, context.caller, params, context.fail);
      const known = new Set(row.contacts.map(({ id }) => id));
      const unknown = body.contacts.flatMap(({ id }, index) =>
        known.has(id) ? [] : [[index, { id: [formatRowNotFound(id)] }]],
      );
      if (unknown.length > 0) context.fail("invalid-fields", { contacts: Object.fromEntries(unknown) });
      return updateContacts(tx, context, row, body.contacts);
    }),

  "counterparty-contacts.update": ({ params, body }, context) =>
    context.store.transaction("counterparty-contacts.update", async (tx) => {
      const row = await requireCounterparty(tx, context.caller, params, context.fail);
      const { id } = row.contacts.find((contact) => contact.id === params.contact_id) ?? context.fail("not-found");
      const [contact] = await updateContacts(tx, context, row, [{ ...body, id }]);
      return contact!;
    }),

  "counterparty-contacts.delete": ({ params }, context) =>
    context.store.transaction("counterparty-contacts.delete", async (tx) => {
      const row = await requireCounterparty(tx, context.caller, params, context.fail);
      const removed = row.contacts.find(({ id }) => id === params.contact_id) ?? context.fail("not-found");
      const left = row.contacts.filter(({ id }) => id !== removed.id);
      const contacts = removed.is_primary
        ? left.map((contact, index) => ({ ...contact, is_primary: index === 0 }))
        : left;
      tx.put(counterparties, { ...row, contacts });
      return reply(204, undefined);
    }),
} satisfies ClusterHandlers;

interface ContactChange {
  readonly id: number;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly is_primary?: boolean | undefined;
}

/**
 * Applies changes to existing contacts in order, and emits the contacts that differ afterwards. At most one contact
 * stays primary. Returns each changed contact once.
 */
async function updateContacts(
  tx: Transaction,
  context: CounterpartyEventContext,
  row: Counterparty,
  changes: readonly ContactChange[],
): Promise<CounterpartyContact[]> {
  const before = new Map(row.contacts.map((contact) => [contact.id, contact]));
  const byId = new Map(before);
  let primary = row.contacts.find(({ is_primary }) => is_primary)?.id;
  for (const { id, name, email, is_primary = id === primary } of changes) {
    const contact = byId.get(id)!;
    byId.set(id, { id, name: name ?? contact.name, email: email ?? contact.email, is_primary });
    if (is_primary) primary = id;
    else if (primary === id) primary = undefined;
  }
  const contacts = [...byId.values()].map((contact) => ({ ...contact, is_primary: contact.id === primary }));
  const named = new Set(changes.map(({ id }) => id));
  const updated = new Map(contacts.map((contact) => [contact.id, contact]));
  const changed = [...named].filter((id) => !isDeepStrictEqual(updated.get(id), before.get(id)));
  if (changed.length > 0) {
    const after = { ...row, contacts };
    tx.put(counterparties, after);
    for (const contact_id of changed) {
      await emitCounterpartyEvent(tx, context, "COUNTER_PARTY_CONTACT_UPDATED", after, { contact_id });
    }
  }
  return [...named].map((id) => updated.get(id)!);
}

export const counterpartyAddressHandlers = {
  "counterparty-addresses.list": ({ params, query }, { store, caller, fail }) =>
    store.read(async (view) => {
      const { addresses } = await requireCounterparty(view, caller, params, fail);
      return paginateList(addresses.map(toAddressRecord), query);
    }),

  "counterparty-addresses.create": ({ params, body }, context) =>
    context.store.transaction("counterparty-addresses.create", async (tx) => {
      const row = await requireCounterparty(tx, context.caller, params, context.fail);
      const address = createCounterpartyAddress(tx, body, row.addresses.length === 0);
      const after = { ...row, addresses: [...row.addresses, address] };
      tx.put(counterparties, after);
      await emitCounterpartyEvent(tx, context, "COUNTER_PARTY_ADDRESS_CREATED", after, { address_id: address.id });
      return toAddressRecord(address);
    }),

  "counterparty-addresses.update": ({ params, body }, context) =>
    context.store.transaction("counterparty-addresses.update", async (tx) => {
      const { caller, fail } = context;
      const row = await requireCounterparty(tx, caller, params, fail);
      const address = row.addresses.find(({ id }) => id === params.address_id) ?? fail("not-found");
      const { country_iso_code, ...changes } = body;
      const country = caller.workspace.jurisdictions.find(({ iso_code }) => iso_code === country_iso_code);
      if (country_iso_code !== undefined && !country) {
        const codes = caller.workspace.jurisdictions.map(({ iso_code }) => iso_code);
        fail("invalid-fields", { country_iso_code: [`Value should be one of ${codes.join(", ")}`] });
      }
      const changed = { ...address, ...changes, ...(country && { country_name: country.name }) };
      if (isDeepStrictEqual(changed, address)) return toAddressRecord(address);
      const after = { ...row, addresses: ensureSinglePrimary(row.addresses, changed) };
      tx.put(counterparties, after);
      await emitCounterpartyEvent(tx, context, "COUNTER_PARTY_ADDRESS_UPDATED", after, { address_id: address.id });
      return toAddressRecord(changed);
    }),
} satisfies ClusterHandlers;

export type NewCounterpartyAddress = z.output<typeof AddressRequest>;

export const createCounterpartyAddress = (
  tx: Transaction,
  given: NewCounterpartyAddress,
  is_primary: boolean,
): CounterpartyAddress => ({
  id: tx.next("counterparty_address"),
  line_one: given.line_one,
  city_name: given.city_name,
  state_name: given.state_name,
  zipcode: given.zipcode,
  country_name: given.country_name,
  email: given.email ?? null,
  phone: given.phone ?? null,
  is_primary,
});

export const toAddressRecord = ({
  is_primary: _,
  email,
  phone,
  ...rest
}: CounterpartyAddress): z.input<typeof Address> => ({
  ...rest,
  ...(email !== null && { email }),
  ...(phone !== null && { phone }),
});
