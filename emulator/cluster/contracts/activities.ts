import type { Activity } from "../../../src/api/activities.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit } from "../../webhooks/emit.ts";
import type { Member } from "../world.ts";
import { contractFacts } from "./facts.ts";
import type { Contract } from "./rows.ts";

/**
 * Tells of something that the caller did on a contract and that moves nothing. `data` are further keys of
 * `activity_data`; those of these activities are ours, since no payload of them is public.
 */
export async function tellOfContract(
  tx: Transaction,
  { clock, caller }: { readonly clock: Clock; readonly caller: Member },
  activity: Activity,
  contract: Contract,
  data: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await emit(tx, clock, {
    workspace_id: contract.workspace_id,
    activity,
    at: clock.now(),
    performed_by: { name: caller.user.name, email: caller.user.email },
    contract: await contractFacts(tx, contract),
    data,
  });
}
