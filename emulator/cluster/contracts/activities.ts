import type { Activity } from "../../../src/api/activities.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { Transaction } from "../../store/port.ts";
import { emit, type Performer } from "../../webhooks/emit.ts";

import { contractFacts } from "./records.ts";
import type { Contract } from "./rows.ts";

/**
 * Emits what a person did on a contract without changing its status. `at`: virtual milliseconds, now by default. `data`:
 * further keys of `activity_data`, which are ours, since no payload with them is public.
 */
export async function emitContractEvent(
  tx: Transaction,
  { clock, by, at = clock.now() }: { readonly clock: Clock; readonly by: Performer; readonly at?: number },
  activity: Activity,
  contract: Contract,
  data: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await emit(tx, clock, {
    workspace_id: contract.workspace_id,
    activity,
    at,
    performed_by: by,
    contract: await contractFacts(tx, contract),
    data,
  });
}
