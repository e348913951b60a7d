import type { WallClock } from "./clock.ts";

/** Looks at once and every so often, one look after the other. Returns the function that ends it, after a last look. */
export function pollEvery(wall: WallClock, everyMs: number, look: () => Promise<void>): () => Promise<void> {
  const ended = new AbortController();
  async function watch(): Promise<void> {
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
