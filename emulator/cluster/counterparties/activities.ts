import type { Activity } from "../../../src/api/activities.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import { contractFacts } from "../contracts/records.ts";
import { contracts } from "../contracts/rows.ts";
import type { Member } from "../world.ts";
import type { Counterparty, CounterpartyNews, CounterpartyPart } from "./rows.ts";

export type CounterpartyActivity = Extract<Activity, `COUNTER_PARTY_${string}`>;

export interface Telling {
  readonly clock: Clock;
  readonly caller: Member;
}

/**
 * Tells of a counterparty, with its newest contract; without one the contract keys are absent (DECISIONS.md, C17).
 * No payload of these activities is public. The ids in `activity_data` are ours: without them a receiver would not
 * know which counterparty, contact or address is meant.
 */
export async function tellOfCounterparty(
  tx: Transaction,
  world: Telling,
  activity: CounterpartyActivity,
  row: Counterparty,
  part: CounterpartyPart = {},
): Promise<void> {
  await tellEach(tx, world, row, [[activity, part]]);
}

/** Tells of a new counterparty, then of each of its contacts and addresses, in their order. */
export const tellOfNewCounterparty = (
  tx: Transaction,
  world: Telling,
  row: Counterparty,
  parts: readonly CounterpartyPart[],
): Promise<void> =>
  tellEach(tx, world, row, [["COUNTER_PARTY_CREATED", {}], ...parts.map((part) => [activityOf(part), part] as const)]);

/** Tells of what a contract that is about to be created has added to the counterparties (DECISIONS.md, C8). */
export async function tellNews(tx: Transaction, world: Telling, news: readonly CounterpartyNews[]): Promise<void> {
  for (const { row, isNew, parts } of news) {
    if (isNew) await tellOfNewCounterparty(tx, world, row, parts);
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
  { clock, caller }: Telling,
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
