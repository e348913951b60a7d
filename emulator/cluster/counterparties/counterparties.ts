import { isDeepStrictEqual } from "node:util";
import type { createCounterparty, showCounterparty } from "../../../src/api/contracts/counterparties.ts";
import type { InputOf, ResultOf } from "../../../src/api/operation.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import type { Workspace } from "../../domain/workspaces.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import { inTransaction } from "../../http/handler.ts";
import type { ClusterHandlers } from "../context.ts";
import { renameParty } from "../contracts/parties.ts";
import { toPerformer } from "../contracts/records.ts";
import { mapPage, paginateList, paginateSlice } from "../response.ts";
import { createCounterpartyAddress, toAddressRecord } from "./contacts.ts";
import {
  type Counterparty,
  counterparties,
  emitCounterpartyChanges,
  emitCounterpartyEvents,
  requireCounterparty,
} from "./rows.ts";

export const counterpartyHandlers = {
  "counterparties.list": ({ query }, { store, caller }) => {
    const slice = { by: "workspace", equals: caller.workspace.id } as const;
    const filter = createFilter(query);
    const page = filter
      ? paginateList(store.list(counterparties, slice).filter(filter), query)
      : paginateSlice(store, counterparties, slice, query);
    return mapPage(page, toCounterpartyRecord);
  },

  "counterparties.create": inTransaction((tx, { body }, context) => {
    const problems = findProblems(body, context.caller.workspace);
    if (problems) return context.fail("invalid-fields", problems);
    const { contact_name, contact_email, primary_address } = body;
    const hasContact = contact_name !== undefined && contact_email !== undefined;
    const row: Counterparty = {
      id: tx.next("counterparty"),
      workspace_id: context.caller.workspace.id,
      name: (body.is_individual ? contact_name : body.organization_name) ?? "",
      is_individual: body.is_individual,
      organization_type: body.organization_type ?? null,
      brand_name: body.brand_name ?? null,
      contacts: hasContact
        ? [{ id: tx.next("counterparty_contact"), name: contact_name, email: contact_email, is_primary: true }]
        : [],
      addresses: primary_address ? [createCounterpartyAddress(tx, primary_address, true)] : [],
      custom_fields: body.custom_fields ?? {},
      status: "ACTIVE",
      created_at: context.clock.now(),
    };
    tx.put(counterparties, row);
    emitCounterpartyChanges(tx, context, [{ row }]);
    return toCounterpartyRecord(row);
  }),

  "counterparties.show": ({ params }, { store, caller, fail }) =>
    toCounterpartyRecord(requireCounterparty(store, caller, params, fail)),

  "counterparties.update": inTransaction((tx, { params, body }, context) => {
    const row = requireCounterparty(tx, context.caller, params, context.fail);
    const after: Counterparty = {
      ...row,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.brand_name !== undefined && { brand_name: body.brand_name }),
      ...(body.custom_fields !== undefined && { custom_fields: { ...row.custom_fields, ...body.custom_fields } }),
    };
    if (isDeepStrictEqual(after, row)) return toCounterpartyRecord(row);
    tx.put(counterparties, after);
    emitCounterpartyEvents(tx, context, after, [["COUNTER_PARTY_UPDATED"]]);
    renameParty(tx, { clock: context.clock, performer: toPerformer(context.caller) }, after);
    return toCounterpartyRecord(after);
  }),
} satisfies ClusterHandlers;

function toCounterpartyRecord(row: Counterparty): ResultOf<typeof showCounterparty> {
  const primary = row.addresses.find((address) => address.is_primary);
  const { id, name, is_individual, status, custom_fields, brand_name } = row;
  return {
    ...{ id, name, is_individual, status, custom_fields, ...(brand_name !== null && { brand_name }) },
    contacts: row.contacts.map(({ id, name, email }) => ({ id, name, email })),
    ...(primary && { primary_address: toAddressRecord(primary) }),
  };
}

/** Checks fields that require each other, and the label, which depends on the workspace. */
function findProblems(body: InputOf<typeof createCounterparty>["body"], { organization_types }: Workspace) {
  const problems = new ProblemCollector();
  const hasContact = body.contact_name !== undefined || body.contact_email !== undefined;
  const requiredFields = [
    ...(body.is_individual ? [] : ["organization_name" as const]),
    ...(body.is_individual || hasContact ? ["contact_name" as const, "contact_email" as const] : []),
  ];
  for (const name of requiredFields) if (body[name] === undefined) problems.add([name], "Field required");
  const labels = organization_types.map(({ name }) => name);
  if (body.organization_type != null && !labels.includes(body.organization_type)) {
    problems.add(["organization_type"], `Value should be one of ${labels.join(", ")}`);
  }
  return problems.fields;
}

const customFilterPrefix = "filter_custom__";

function createFilter(query: Readonly<Record<string, unknown>>): ((row: Counterparty) => boolean) | undefined {
  const email = query.filter__client_email_address;
  const customFilters = Object.entries(query).filter(([name]) => name.startsWith(customFilterPrefix));
  if (email === undefined && customFilters.length === 0) return undefined;
  const address = toAddressKey(String(email));
  return (row) =>
    (email === undefined || row.contacts.some((contact) => toAddressKey(contact.email) === address)) &&
    customFilters.every(([name, value]) => {
      const field = name.slice(customFilterPrefix.length);
      return Object.hasOwn(row.custom_fields, field) && String(row.custom_fields[field]) === String(value);
    });
}
