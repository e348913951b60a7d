import type { Activity } from "../../../src/api/activities.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import { contractFacts } from "../contracts/facts.ts";
import { contracts } from "../contracts/rows.ts";
import type { Member } from "../world.ts";
import type { Counterparty } from "./rows.ts";

export type CounterpartyActivity = Extract<Activity, `COUNTER_PARTY_${string}`>;

/**
 * Tells of a counterparty, with its newest contract; without one the contract keys are absent (DECISIONS.md, C17).
 * No payload of these activities is public. The ids in `activity_data` are ours: without them a receiver would not
 * know which counterparty, contact or address is meant.
 */
export async function tellOfCounterparty(
  tx: Transaction,
  { clock, caller }: { readonly clock: Clock; readonly caller: Member },
  activity: CounterpartyActivity,
  { id, workspace_id }: Counterparty,
  part: { readonly contact_id?: number; readonly address_id?: number } = {},
): Promise<void> {
  const [newest] = await tx.list(contracts, { by: "counterparty", equals: id, reverse: true, limit: 1 });
  await emit(tx, clock, {
    workspace_id,
    activity,
    at: clock.now(),
    performed_by: { name: caller.user.name, email: caller.user.email },
    contract: newest && (await contractFacts(tx, newest)),
    data: { counterparty_id: id, ...part },
  });
}
