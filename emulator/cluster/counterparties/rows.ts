import * as z from "zod";
import type { Activity } from "../../../src/api/activities.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { dictionary } from "../../../src/api/shapes.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { defineRows, type Transaction, type View } from "../../store/port.ts";
import { storedTime } from "../../store/stored-time.ts";
import { emitEvent } from "../../webhooks/emit.ts";
import type { AuthenticatedMember } from "../context.ts";
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

/** The contact or the address of an activity. */
export interface CounterpartyPart {
  readonly contact_id?: number;
  readonly address_id?: number;
}

/** A new counterparty, or one to which contacts were added. */
export interface CounterpartyChange {
  readonly row: Counterparty;
  readonly isNew: boolean;
  readonly parts: readonly CounterpartyPart[];
}

export const toNameKey = (workspaceId: number, name: string): string => `${workspaceId} ${name.trim().toLowerCase()}`;

export const counterparties = defineRows<Counterparty, "workspace" | "name">({
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

/** Returns the counterparty in a path. Rejects with `not-found` if it is unknown or in another workspace. */
export const requireCounterparty = (
  view: View,
  caller: AuthenticatedMember,
  { counter_party_id }: { readonly counter_party_id: number },
  fail: Fail<"not-found">,
): Promise<Counterparty> => requireOwnRow(view, counterparties, caller, counter_party_id, fail);

interface PrimaryCandidate {
  readonly id: number;
  readonly is_primary: boolean;
}

/** Returns the list with a replaced row. If that row is primary, no other row stays primary. */
export const ensureSinglePrimary = <Row extends PrimaryCandidate>(rows: readonly Row[], changed: Row): Row[] =>
  rows.map((row) => {
    if (row.id === changed.id) return changed;
    return changed.is_primary && row.is_primary ? { ...row, is_primary: false } : row;
  });

type CounterpartyActivity = Extract<Activity, `COUNTER_PARTY_${string}`>;

export interface CounterpartyEventContext {
  readonly clock: Clock;
  readonly caller: AuthenticatedMember;
}

/**
 * Emits an activity for a changed counterparty, with its newest contract. The contract keys are missing if there is no contract
 * (DECISIONS.md, C17). No payload of these activities is public. The ids in `activity_data` are assumed, because a
 * receiver could not identify the counterparty, contact or address without them.
 */
export const emitCounterpartyEvent = (
  tx: Transaction,
  context: CounterpartyEventContext,
  activity: CounterpartyActivity,
  row: Counterparty,
  part: CounterpartyPart = {},
): Promise<void> => emitEach(tx, context, row, [[activity, part]]);

/**
 * Emits the additions of a contract to the counterparties. Each new counterparty comes first, then its contacts and
 * addresses in order.
 */
export async function emitCounterpartyChanges(
  tx: Transaction,
  context: CounterpartyEventContext,
  changes: readonly CounterpartyChange[],
): Promise<void> {
  for (const { row, isNew, parts } of changes) {
    const added = parts.map((part) => {
      const kind = part.contact_id === undefined ? "ADDRESS" : "CONTACT";
      return [`COUNTER_PARTY_${kind}_CREATED`, part] as const;
    });
    await emitEach(tx, context, row, isNew ? [["COUNTER_PARTY_CREATED", {}], ...added] : added);
  }
}

async function emitEach(
  tx: Transaction,
  { clock, caller }: CounterpartyEventContext,
  { id, workspace_id }: Counterparty,
  activities: readonly (readonly [CounterpartyActivity, CounterpartyPart])[],
): Promise<void> {
  const [newest] = await tx.list(contracts, { by: "counterparty", equals: id, reverse: true, limit: 1 });
  const contract = newest && (await readContractFacts(tx, newest));
  for (const [activity, part] of activities) {
    const data = { counterparty_id: id, ...part };
    const performed_by = toPerformer(caller);
    await emitEvent(tx, clock, { workspace_id, activity, at: clock.now(), performed_by, contract, data });
  }
}
