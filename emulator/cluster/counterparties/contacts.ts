import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import type { Address, AddressRequest } from "../../../src/api/contracts/counterparties.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import { inTransaction } from "../../http/handler.ts";
import type { Transaction } from "../../store/port.ts";
import type { CallerContext, ClusterHandlers } from "../context.ts";
import { paginateList } from "../response.ts";
import { formatRowNotFound } from "../workspace/workspace-rows.ts";
import {
  type Counterparty,
  type CounterpartyAddress,
  type CounterpartyContact,
  counterparties,
  emitCounterpartyEvents,
  ensureSinglePrimary,
  requireCounterparty,
} from "./rows.ts";

export const counterpartyContactHandlers = {
  "counterparty-contacts.list": ({ params, query }, { store, caller, fail }) =>
    paginateList(requireCounterparty(store, caller, params, fail).contacts, query),

  "counterparty-contacts.create": inTransaction((tx, { params, body }, context) => {
    const row = requireCounterparty(tx, context.caller, params, context.fail);
    // Every counterparty must have a primary contact.
    const is_primary = body.is_primary || row.contacts.length === 0;
    const contact = { id: tx.next("counterparty_contact"), name: body.name, email: body.email, is_primary };
    const after = { ...row, contacts: ensureSinglePrimary([...row.contacts, contact], contact) };
    tx.put(counterparties, after);
    emitCounterpartyEvents(tx, context, after, [["COUNTER_PARTY_CONTACT_CREATED", { contact_id: contact.id }]]);
    return contact;
  }),

  "counterparty-contacts.update-many": inTransaction((tx, { params, body }, context) => {
    const row = requireCounterparty(tx, context.caller, params, context.fail);
    const contactIds = new Set(row.contacts.map(({ id }) => id));
    const problems = new ProblemCollector();
    for (const [index, { id }] of body.contacts.entries())
      if (!contactIds.has(id)) problems.add(["contacts", index, "id"], formatRowNotFound(id));
    if (problems.fields) context.fail("invalid-fields", problems.fields);
    return updateContacts(tx, context, row, body.contacts);
  }),

  "counterparty-contacts.update": inTransaction((tx, { params, body }, context) => {
    const row = requireCounterparty(tx, context.caller, params, context.fail);
    const { id } = row.contacts.find((contact) => contact.id === params.contact_id) ?? context.fail("not-found");
    const [contact] = updateContacts(tx, context, row, [{ ...body, id }]);
    return contact!;
  }),

  "counterparty-contacts.delete": inTransaction((tx, { params }, context) => {
    const row = requireCounterparty(tx, context.caller, params, context.fail);
    const contact = row.contacts.find(({ id }) => id === params.contact_id) ?? context.fail("not-found");
    const others = row.contacts.filter(({ id }) => id !== contact.id);
    const contacts = contact.is_primary
      ? others.map((contact, index) => ({ ...contact, is_primary: index === 0 }))
      : others;
    tx.put(counterparties, { ...row, contacts });
  }),

  "counterparty-addresses.list": ({ params, query }, { store, caller, fail }) => {
    const { addresses } = requireCounterparty(store, caller, params, fail);
    return paginateList(addresses.map(toAddressRecord), query);
  },

  "counterparty-addresses.create": inTransaction((tx, { params, body }, context) => {
    const row = requireCounterparty(tx, context.caller, params, context.fail);
    const address = createCounterpartyAddress(tx, body, row.addresses.length === 0);
    const after = { ...row, addresses: [...row.addresses, address] };
    tx.put(counterparties, after);
    emitCounterpartyEvents(tx, context, after, [["COUNTER_PARTY_ADDRESS_CREATED", { address_id: address.id }]]);
    return toAddressRecord(address);
  }),

  "counterparty-addresses.update": inTransaction((tx, { params, body }, context) => {
    const { caller, fail } = context;
    const row = requireCounterparty(tx, caller, params, fail);
    const address = row.addresses.find(({ id }) => id === params.address_id) ?? fail("not-found");
    const { country_iso_code, ...changes } = body;
    const country = caller.workspace.jurisdictions.find(({ iso_code }) => iso_code === country_iso_code);
    if (country_iso_code !== undefined && !country) {
      const codes = caller.workspace.jurisdictions.map(({ iso_code }) => iso_code);
      fail("invalid-fields", { country_iso_code: [`Value should be one of ${codes.join(", ")}`] });
    }
    const updatedAddress = { ...address, ...changes, ...(country && { country_name: country.name }) };
    if (isDeepStrictEqual(updatedAddress, address)) return toAddressRecord(address);
    const after = { ...row, addresses: ensureSinglePrimary(row.addresses, updatedAddress) };
    tx.put(counterparties, after);
    emitCounterpartyEvents(tx, context, after, [["COUNTER_PARTY_ADDRESS_UPDATED", { address_id: address.id }]]);
    return toAddressRecord(updatedAddress);
  }),
} satisfies ClusterHandlers;

interface ContactChange {
  readonly id: number;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly is_primary?: boolean | undefined;
}

/** Emits the contacts that have changed, and returns each named contact once. At most one contact stays primary. */
function updateContacts(
  tx: Transaction,
  context: CallerContext,
  row: Counterparty,
  changes: readonly ContactChange[],
): CounterpartyContact[] {
  const oldContacts = new Map(row.contacts.map((contact) => [contact.id, contact]));
  const byId = new Map(oldContacts);
  let primaryId = row.contacts.find(({ is_primary }) => is_primary)?.id;
  for (const { id, name, email, is_primary = id === primaryId } of changes) {
    const contact = byId.get(id)!;
    byId.set(id, { id, name: name ?? contact.name, email: email ?? contact.email, is_primary });
    if (is_primary) primaryId = id;
    else if (primaryId === id) primaryId = undefined;
  }
  const contacts = [...byId.values()].map((contact) => ({ ...contact, is_primary: contact.id === primaryId }));
  const namedIds = new Set(changes.map(({ id }) => id));
  const newContacts = new Map(contacts.map((contact) => [contact.id, contact]));
  const changedIds = [...namedIds].filter((id) => !isDeepStrictEqual(newContacts.get(id), oldContacts.get(id)));
  if (changedIds.length > 0) {
    const after = { ...row, contacts };
    tx.put(counterparties, after);
    const toEvent = (contact_id: number) => ["COUNTER_PARTY_CONTACT_UPDATED", { contact_id }] as const;
    emitCounterpartyEvents(tx, context, after, changedIds.map(toEvent));
  }
  return [...namedIds].map((id) => newContacts.get(id)!);
}

export type NewCounterpartyAddress = z.output<typeof AddressRequest>;

export const createCounterpartyAddress = (
  tx: Transaction,
  input: NewCounterpartyAddress,
  is_primary: boolean,
): CounterpartyAddress => ({
  id: tx.next("counterparty_address"),
  line_one: input.line_one,
  city_name: input.city_name,
  state_name: input.state_name,
  zipcode: input.zipcode,
  country_name: input.country_name,
  email: input.email ?? null,
  phone: input.phone ?? null,
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
