import { randomIds } from "../src/base/ids.ts";
import { instanceAt } from "./begin.ts";
import { collections } from "./collections.ts";
import { type Repair, repairFile } from "./store/repair.ts";
import { claimRunFile } from "./store/run-file.ts";

export type { Repair } from "./store/repair.ts";

/**
 * Repairs a damaged state while no emulator uses it: what stands before the damage is kept, damaged files are moved
 * aside. Fails with StateInUse under a running emulator, with StateRefused where there is nothing to repair from.
 */
export async function repairState(path: string): Promise<Repair> {
  // Nothing listens under this URL, so a claim that a crash leaves behind counts as stale.
  const nowhere = "http://127.0.0.1:0";
  const run = {
    pid: process.pid,
    instance_id: randomIds().uuid(),
    router_url: nowhere,
    control_url: nowhere,
    clusters: [],
    token: "",
  };
  const claim = await claimRunFile({ path: `${path}.run`, run, probe: instanceAt });
  try {
    return await repairFile({ path, collections });
  } finally {
    await claim.release();
  }
}
