import { resolve } from "node:path";
import { checkOptions } from "./compose/check-options.ts";
import { resolveSeed } from "./compose/options.ts";
import { startWithSeed } from "./compose/start-with-seed.ts";
import { openFileSource } from "./compose/state-source.ts";
import type { Emulator, EmulatorOptions } from "./published.d.ts";

export { EmulatorClosedError } from "./compose/cleanup-stack.ts";
export {
  AdvanceTargetInPastError,
  AdvanceTargetTooFarError,
  AdvanceUnderWayError,
  DeliveryUnderWayError,
  HistoryUnavailableError,
  InvalidSnapshotError,
  RewindOutOfRangeError,
  RewindTargetInFutureError,
  SnapshotExistsError,
  SnapshotNotFoundError,
} from "./compose/emulator-api.ts";
export { InvalidOptionsError } from "./compose/options.ts";
export {
  repairState,
  StateAccessError,
  StateFormatError,
  StateLockedError,
} from "./compose/state/open-state.ts";
export type { Seed } from "./compose/state/seed.ts";
export { seedSchema } from "./compose/state/seed.ts";
export type {
  AdvanceResult,
  AdvanceTarget,
  Emulator,
  EmulatorEvent,
  EmulatorOptions,
  Repair,
  Rewind,
  RunningCluster,
  Snapshot,
} from "./published.d.ts";

/**
 * Starts an emulator in this process: the router, a listener per cluster, and the control plane. Several emulators can
 * run at once and share nothing. Rejects with InvalidOptionsError if an option is invalid, with StateFormatError if the
 * state file is damaged, and with StateLockedError if another emulator uses the file. Nothing keeps running after a
 * rejection.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  checkOptions(options);
  const { from, observed, log = () => {} } = options;
  const seed = resolveSeed(options);
  // The import is dynamic, because it loads all modules of a replay.
  const observer =
    observed === undefined
      ? undefined
      : await (await import("./compose/open-observer.ts")).openObserver(resolve(observed), startEmulator, log);
  return startWithSeed(options, seed, from === undefined ? undefined : openFileSource(resolve(from)), observer);
}
