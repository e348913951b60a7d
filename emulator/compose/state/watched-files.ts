import type { Wall } from "../../../src/base/clock.ts";
import { regularly } from "../../../src/base/regularly.ts";
import type { Store } from "../../store/port.ts";

const everyMs = 2_000;

/**
 * Looks now and then whether the files of the state are still there: who removes a folder does not think of the emulator that
 * keeps its state in it. Returns the function that ends it, after a last look.
 */
export function watchFiles(store: Store, wall: Wall): () => Promise<void> {
  if (store.check === undefined) return async () => {};
  // What cannot be looked at may be there.
  return regularly(wall, everyMs, () => store.check!().catch(() => {}));
}
