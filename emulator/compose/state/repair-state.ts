import { systemWall } from "../../../src/base/clock.ts";
import { instanceAt } from "../../http/outgoing/instance-at.ts";
import { explainUnusable } from "../../store/file/file-store.ts";
import { realState } from "../../store/file/kept-state.ts";
import { type Repair, repairFile } from "../../store/file/repair.ts";
import { claimRunFile, runFilesOf } from "../../store/file/run-file.ts";
import { collections } from "./collections.ts";

export type { Repair } from "../../store/file/repair.ts";
export { StateInUse } from "../../store/file/run-file.ts";
export { StateRefused, StateUnusable } from "../../store/port.ts";

/**
 * Repairs a damaged state while no emulator uses it: what stands before the damage is kept, damaged files are moved
 * aside. Fails with StateInUse under a running emulator, with StateRefused where there is nothing to repair from, and
 * with StateUnusable where the file system refuses.
 */
export async function repairState(path: string): Promise<Repair> {
  try {
    const state = await realState(path);
    const paths = await runFilesOf(state, undefined);
    const claim = await claimRunFile({
      paths,
      run: undefined,
      wall: systemWall,
      probe: (url) => instanceAt(url, systemWall),
    });
    try {
      return await repairFile({ path: state, collections });
    } finally {
      await claim.release();
    }
  } catch (error) {
    return explainUnusable(path, error);
  }
}
