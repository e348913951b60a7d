import { resolve } from "node:path";
import { checkOptions } from "./compose/check-options.ts";
import { resolveSeed } from "./compose/options.ts";
import { startWithSeed } from "./compose/start-with-seed.ts";
import { openFileSource } from "./compose/state-source.ts";
import type { Emulator, EmulatorOptions } from "./published.d.ts";

export { EmulatorClosedError } from "./compose/cleanup-stack.ts";
export {
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
 * Starts an emulator in this process: the router, a listener per cluster, the control plane. Any number may run at
 * once; nothing is shared between them. Fails with InvalidOptionsError if they cannot be meant so, with
 * StateFormatError over a damaged file and with StateLockedError over one that another emulator uses; nothing is left
 * running then.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  checkOptions(options);
  const { from, observed, log = () => {} } = options;
  const seed = resolveSeed(options);
  // Late: it loads all that a replay needs.
  const observer =
    observed === undefined
      ? undefined
      : await (await import("./compose/open-observer.ts")).openObserver(resolve(observed), startEmulator, log);
  return startWithSeed(options, seed, from === undefined ? undefined : openFileSource(resolve(from)), observer);
}
