import type { Activity } from "../../../src/api/activities.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import type { AuthenticatedMember } from "../context.ts";
import { contractFacts } from "../contracts/records.ts";
import { contracts } from "../contracts/rows.ts";
import type { Counterparty, CounterpartyChange, CounterpartyPart } from "./rows.ts";

export type CounterpartyActivity = Extract<Activity, `COUNTER_PARTY_${string}`>;

export interface EventContext {
  readonly clock: Clock;
  readonly caller: AuthenticatedMember;
}

/**
 * Tells of a counterparty, with its newest contract; without one the contract keys are absent (DECISIONS.md, C17).
 * No payload of these activities is public. The ids in `activity_data` are ours: without them a receiver would not
 * know which counterparty, contact or address is meant.
 */
export async function emitCounterpartyEvent(
  tx: Transaction,
  world: EventContext,
  activity: CounterpartyActivity,
  row: Counterparty,
  part: CounterpartyPart = {},
): Promise<void> {
  await tellEach(tx, world, row, [[activity, part]]);
}

/** Tells of a new counterparty, then of each of its contacts and addresses, in their order. */
export const emitNewCounterpartyEvents = (
  tx: Transaction,
  world: EventContext,
  row: Counterparty,
  parts: readonly CounterpartyPart[],
): Promise<void> =>
  tellEach(tx, world, row, [["COUNTER_PARTY_CREATED", {}], ...parts.map((part) => [activityOf(part), part] as const)]);

/** Tells of what a contract that is about to be created has added to the counterparties (DECISIONS.md, C8). */
export async function emitCounterpartyChanges(
  tx: Transaction,
  world: EventContext,
  news: readonly CounterpartyChange[],
): Promise<void> {
  for (const { row, isNew, parts } of news) {
    if (isNew) await emitNewCounterpartyEvents(tx, world, row, parts);
    else
      await tellEach(
        tx,
        world,
        row,
        parts.map((part) => [activityOf(part), part]),
      );
  }
}

const activityOf = ({ contact_id }: CounterpartyPart) =>
  contact_id === undefined ? "COUNTER_PARTY_ADDRESS_CREATED" : "COUNTER_PARTY_CONTACT_CREATED";

async function tellEach(
  tx: Transaction,
  { clock, caller }: EventContext,
  { id, workspace_id }: Counterparty,
  told: readonly (readonly [CounterpartyActivity, CounterpartyPart])[],
): Promise<void> {
  const [newest] = await tx.list(contracts, { by: "counterparty", equals: id, reverse: true, limit: 1 });
  const contract = newest && (await contractFacts(tx, newest));
  const performed_by = { name: caller.user.name, email: caller.user.email };
  for (const [activity, part] of told) {
    const data = { counterparty_id: id, ...part };
    await emit(tx, clock, { workspace_id, activity, at: clock.now(), performed_by, contract, data });
  }
}
