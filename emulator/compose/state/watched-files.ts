import type { Wall } from "../../../src/base/clock.ts";
import type { Store } from "../../store/port.ts";

const everyMs = 2_000;

/**
 * Looks now and then whether the files of the state are still there: who removes a folder does not think of the emulator that
 * keeps its state in it. Returns the function that ends it, after a last look.
 */
export function watchFiles(store: Store, wall: Wall): () => Promise<void> {
  if (store.check === undefined) return async () => {};
  const ended = new AbortController();
  async function watch(): Promise<void> {
    // What cannot be looked at may be there.
    const look = () => store.check!().catch(() => {});
    await look();
    while (!ended.signal.aborted) {
      await wall.sleep(everyMs, ended.signal);
      await look();
    }
  }
  const watching = watch();
  return () => {
    ended.abort();
    return watching;
  };
}
