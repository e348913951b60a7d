import { resolve } from "node:path";
import { start } from "./compose/begin.ts";
import { checkOptions } from "./compose/check-options.ts";
import { type EmulatorOptions, seedFrom } from "./compose/options.ts";
import { originAt } from "./compose/origin.ts";
import type { Emulator } from "./compose/running.ts";

export type { EmulatorEvent } from "./compose/activity.ts";
export { EmulatorClosed } from "./compose/closing.ts";
export type { RunningCluster } from "./compose/cluster-parts.ts";
export type { EmulatorOptions } from "./compose/options.ts";
export { InvalidOptions } from "./compose/options.ts";
export {
  BeyondHistory,
  NoHistory,
  NoSuchSnapshot,
  NotBehind,
  SnapshotThere,
  UnusableSnapshot,
} from "./compose/program-travel.ts";
export type { Emulator, Rewind, Snapshot } from "./compose/running.ts";
export { type Repair, repairState, StateInUse, StateRefused, StateUnusable } from "./compose/state/repair-state.ts";
export type { Seed } from "./compose/state/seed.ts";
export { seedSchema } from "./compose/state/seed.ts";

/**
 * Starts an emulator in this process: the router, a listener per cluster, the control plane. Any number may run at
 * once; nothing is shared between them. Fails with InvalidOptions where they cannot be meant so, with StateRefused over a
 * damaged file and with StateInUse over one that another emulator uses; nothing is left running then.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  checkOptions(options);
  const { from, observed, log = () => {} } = options;
  const seed = seedFrom(options);
  // Late: it loads all that a replay needs.
  const observer =
    observed === undefined
      ? undefined
      : await (await import("./compose/open-observer.ts")).openObserver(resolve(observed), startEmulator, log);
  return start(options, seed, from === undefined ? undefined : originAt(resolve(from)), observer);
}
