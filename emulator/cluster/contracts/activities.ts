import type { Activity } from "../../../src/api/activities.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit, type Person } from "../../webhooks/emit.ts";

import { contractFacts } from "./records.ts";
import type { Contract } from "./rows.ts";

/**
 * Tells of something that somebody did on a contract and that moves nothing. `data` are further keys of
 * `activity_data`; those of these activities are ours, since no payload of them is public.
 */
export async function tellOfContract(
  tx: Transaction,
  { clock, by }: { readonly clock: Clock; readonly by: Person },
  activity: Activity,
  contract: Contract,
  data: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await emit(tx, clock, {
    workspace_id: contract.workspace_id,
    activity,
    at: clock.now(),
    performed_by: by,
    contract: await contractFacts(tx, contract),
    data,
  });
}
