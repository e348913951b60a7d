import * as z from "zod";
import type { Activity } from "../../../src/api/activities.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { dictionary } from "../../../src/api/shapes.ts";
import { defineRows, storedTime, type Transaction, type View } from "../../store/port.ts";
import { emitEvent } from "../../webhooks/emit.ts";
import type { AuthenticatedMember, CallerContext } from "../context.ts";
import { readContractFacts, toPerformer } from "../contracts/records.ts";
import { contracts } from "../contracts/rows.ts";
import { requireOwnRow } from "../workspace/workspace-rows.ts";

export const CounterpartyContact = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  is_primary: z.boolean(),
});
export type CounterpartyContact = z.infer<typeof CounterpartyContact>;

export const CounterpartyAddress = z.strictObject({
  id: z.int(),
  line_one: z.string(),
  city_name: z.string(),
  state_name: z.string(),
  zipcode: z.string(),
  country_name: z.string(),
  email: z.string().nullable(),
  phone: z.string().nullable(),
  is_primary: z.boolean(),
});
export type CounterpartyAddress = z.infer<typeof CounterpartyAddress>;

/** A counterparty in the workspace's list (DECISIONS.md, F22). */
export const Counterparty = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  /** Name of the organization, or the first and last name of an individual. */
  name: z.string(),
  is_individual: z.boolean(),
  organization_type: z.string().nullable(),
  brand_name: z.string().nullable(),
  contacts: z.array(CounterpartyContact),
  addresses: z.array(CounterpartyAddress),
  custom_fields: dictionary(z.unknown()),
  status: z.enum(["ACTIVE", "ARCHIVED", "MIGRATING"]),
  created_at: storedTime(z.number()),
});
export type Counterparty = z.infer<typeof Counterparty>;

/** A new counterparty, or one to which contacts were added. */
export interface CounterpartyChange {
  readonly row: Counterparty;
  /** Undefined for a new counterparty. */
  readonly addedContacts?: readonly CounterpartyContact[];
}

export const toNameKey = (workspaceId: number, name: string): string => `${workspaceId} ${name.trim().toLowerCase()}`;

export const counterparties = defineRows({
  name: "counterparties",
  schema: Counterparty,
  key: (row) => row.id,
  numbers: {
    counterparty: (row) => row.id,
    counterparty_contact: (row) => row.contacts.map(({ id }) => id),
    counterparty_address: (row) => row.addresses.map(({ id }) => id),
  },
  indexes: {
    workspace: (row) => row.workspace_id,
    /** `<workspace id> <name in lower case>` */
    name: (row) => toNameKey(row.workspace_id, row.name),
  },
});

export const requireCounterparty = (
  view: View,
  caller: AuthenticatedMember,
  { counter_party_id }: { readonly counter_party_id: number },
  fail: Fail<"not-found">,
): Counterparty => requireOwnRow(view, counterparties, caller, counter_party_id, fail);

/** Returns the list with a replaced row. If that row is primary, no other row stays primary. */
export const ensureSinglePrimary = <Row extends CounterpartyContact | CounterpartyAddress>(
  rows: readonly Row[],
  replacement: Row,
): Row[] =>
  rows.map((row) => {
    if (row.id === replacement.id) return replacement;
    return replacement.is_primary && row.is_primary ? { ...row, is_primary: false } : row;
  });

type CounterpartyEvent = readonly [
  activity: Extract<Activity, `COUNTER_PARTY_${string}`>,
  part?: { readonly contact_id: number } | { readonly address_id: number },
];

/** Includes the newest contract, if any (DECISIONS.md, C17). The IDs are assumed, because no such payload is public. */
export function emitCounterpartyEvents(
  tx: Transaction,
  { clock, caller }: CallerContext,
  { id, workspace_id }: Counterparty,
  events: readonly CounterpartyEvent[],
): void {
  const [newestContract] = tx.list(contracts, { by: "counterparty", equals: id, reverse: true, limit: 1 });
  const contract = newestContract && readContractFacts(tx, newestContract);
  const performed_by = toPerformer(caller);
  for (const [activity, relatedId] of events) {
    const data = { counterparty_id: id, ...relatedId };
    emitEvent(tx, clock, { workspace_id, activity, at: clock.now(), performed_by, contract, data });
  }
}

/** Emits each new counterparty first, then its contacts and addresses in order. */
export function emitCounterpartyChanges(
  tx: Transaction,
  context: CallerContext,
  changes: readonly CounterpartyChange[],
): void {
  for (const { row, addedContacts } of changes) {
    const contacts = addedContacts ?? row.contacts;
    const addresses = addedContacts ? [] : row.addresses;
    emitCounterpartyEvents(tx, context, row, [
      ...(addedContacts ? [] : [["COUNTER_PARTY_CREATED"] as const]),
      ...contacts.map(({ id }) => ["COUNTER_PARTY_CONTACT_CREATED", { contact_id: id }] as const),
      ...addresses.map(({ id }) => ["COUNTER_PARTY_ADDRESS_CREATED", { address_id: id }] as const),
    ]);
  }
}
