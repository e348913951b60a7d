import { begin } from "./compose/begin.ts";
import { checkOptions } from "./compose/check-options.ts";
import { Closing } from "./compose/closing.ts";
import { type EmulatorOptions, seedFrom } from "./compose/options.ts";
import type { Emulator } from "./compose/running.ts";

export type { EmulatorEvent } from "./compose/activity.ts";
export { InvalidOptions } from "./compose/invalid-options.ts";
export type { EmulatorOptions } from "./compose/options.ts";
export { type Repair, repairState } from "./compose/repair-state.ts";
export type { Emulator, RunningCluster } from "./compose/running.ts";
export type { Seed } from "./compose/seed.ts";
export { seedSchema } from "./compose/seed-schema.ts";

/**
 * Starts an emulator in this process: the router, a listener per cluster, the control plane. Any number may run at
 * once; nothing is shared between them. Fails with InvalidOptions where they cannot be meant so, with StateRefused over a
 * damaged file and with StateInUse over one that another emulator uses; nothing is left running then.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  checkOptions(options);
  const seed = seedFrom(options);
  const closing = new Closing();
  try {
    return await begin(options, seed, closing);
  } catch (error) {
    await closing.run().catch(() => {}); // What went wrong first is what the caller must learn.
    throw error;
  }
}
