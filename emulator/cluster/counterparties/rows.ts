import * as z from "zod";
import { dictionary } from "../../../src/api/dictionary.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { rows, type View } from "../../store/port.ts";
import { storedTime } from "../../store/stored-time.ts";
import type { AuthenticatedMember } from "../context.ts";

export const Contact = z.strictObject({ id: z.int(), name: z.string(), email: z.string(), is_primary: z.boolean() });
export type Contact = z.infer<typeof Contact>;

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

/** A party of the other side, in the workspace's list (DECISIONS.md, F22). */
export const Counterparty = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  /** Of the organization; for an individual, first and last name. */
  name: z.string(),
  is_individual: z.boolean(),
  organization_type: z.string().nullable(),
  brand_name: z.string().nullable(),
  contacts: z.array(Contact),
  addresses: z.array(CounterpartyAddress),
  custom_fields: dictionary(z.unknown()),
  status: z.enum(["ACTIVE", "ARCHIVED", "MIGRATING"]),
  created_at: storedTime(z.number()),
});
export type Counterparty = z.infer<typeof Counterparty>;

/** The contact or the address that an activity is about. */
export interface CounterpartyPart {
  readonly contact_id?: number;
  readonly address_id?: number;
}

/** A counterparty that a contract has brought into being, or to which it has added contacts. */
export interface CounterpartyChange {
  readonly row: Counterparty;
  readonly isNew: boolean;
  readonly parts: readonly CounterpartyPart[];
}

/** A value of the index `name`. */
export const nameKey = (workspaceId: number, name: string): string => `${workspaceId} ${name.trim().toLowerCase()}`;

export const counterparties = rows<Counterparty, "workspace" | "name">({
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
    name: (row) => nameKey(row.workspace_id, row.name),
  },
});

/** The counterparty that a path names; `not-found` when it is unknown or of another workspace. */
export async function requireCounterparty(
  view: View,
  { workspace }: AuthenticatedMember,
  { counter_party_id }: { readonly counter_party_id: number },
  fail: Fail<"not-found">,
): Promise<Counterparty> {
  const row = await view.get(counterparties, counter_party_id);
  return row?.workspace_id === workspace.id ? row : fail("not-found");
}
