import { systemWallClock } from "../../../src/base/clock.ts";
import type { Repair } from "../../published.d.ts";
import { explainUnusable } from "../../store/file/file-store.ts";
import { repairFile } from "../../store/file/repair.ts";
import { claimRunFile, listRunFilePaths } from "../../store/file/run-file.ts";
import { resolveStatePath } from "../../store/file/stored-state.ts";
import { collections } from "./collections.ts";

export { StateLockedError } from "../../store/file/run-file.ts";
export { StateAccessError, StateFormatError } from "../../store/port.ts";

/**
 * Repairs a damaged state while no emulator uses it: everything before the damage is retained, and damaged files are
 * moved aside. Fails with StateLockedError if an emulator is running, with StateFormatError if there is nothing to
 * repair from, and with StateAccessError if the file system rejects the write.
 */
export async function repairState(path: string): Promise<Repair> {
  try {
    const state = await resolveStatePath(path);
    const paths = await listRunFilePaths(state, undefined);
    const claim = await claimRunFile({
      paths,
      run: undefined,
      wall: systemWallClock,
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
