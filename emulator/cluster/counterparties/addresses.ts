import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import type { Address, AddressRequest } from "../../../src/api/contracts/counterparties.ts";
import type { Transaction } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { paginateList } from "../response.ts";
import { emitCounterpartyEvent } from "./activities.ts";
import { ensureSinglePrimary } from "./primary.ts";
import { type CounterpartyAddress, counterparties, requireCounterparty } from "./rows.ts";

export const counterpartyAddressHandlers = {
  "counterparty-addresses.list": ({ params, query }, { store, caller, fail }) =>
    store.read(async (view) => {
      const { addresses } = await requireCounterparty(view, caller, params, fail);
      return paginateList(addresses.map(toAddressRecord), query);
    }),

  "counterparty-addresses.create": ({ params, body }, world) =>
    world.store.transaction("counterparty-addresses.create", async (tx) => {
      const row = await requireCounterparty(tx, world.caller, params, world.fail);
      const address = createAddress(tx, body, row.addresses.length === 0);
      const after = { ...row, addresses: [...row.addresses, address] };
      tx.put(counterparties, after);
      await emitCounterpartyEvent(tx, world, "COUNTER_PARTY_ADDRESS_CREATED", after, { address_id: address.id });
      return toAddressRecord(address);
    }),

  "counterparty-addresses.update": ({ params, body }, world) =>
    world.store.transaction("counterparty-addresses.update", async (tx) => {
      const { caller, fail } = world;
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
      await emitCounterpartyEvent(tx, world, "COUNTER_PARTY_ADDRESS_UPDATED", after, { address_id: address.id });
      return toAddressRecord(changed);
    }),
} satisfies ClusterHandlers;

/** An address that gets its id. */
export type NewAddress = z.output<typeof AddressRequest>;

export const createAddress = (tx: Transaction, given: NewAddress, is_primary: boolean): CounterpartyAddress => ({
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
