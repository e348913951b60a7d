import { clockState, type VirtualClock } from "../../clock/virtual-clock.ts";
import type { Store, Transaction } from "../../store/port.ts";
import type { RenewableIds } from "../../world/renewable-ids.ts";
import type { Settings } from "../../world/settings.ts";
import { withKeptKeys } from "../kept-keys.ts";
import { applySeed, type Seed } from "./seed.ts";

interface Beginning {
  readonly store: Store;
  readonly seed: Seed;
  readonly ids: RenewableIds;
  readonly settings: Pick<Settings, "deterministic">;
  readonly clock: VirtualClock;
  /** Virtual milliseconds at which the new state begins. */
  readonly at: number;
}

/** What writes the seed into an emptied state, with the keys and secrets that were handed out at the start. */
export async function seededBeginning(from: Beginning): Promise<(tx: Transaction) => void> {
  const { store, ids, settings, clock, at } = from;
  // With --deterministic the same keys are drawn again, and what is drawn next depends on it.
  const seed = settings.deterministic ? from.seed : await store.read((view) => withKeptKeys(view, from.seed));
  return (tx) => {
    ids.restart();
    applySeed(tx, seed, ids);
    tx.put(clockState, clock.standingAt(at));
  };
}
