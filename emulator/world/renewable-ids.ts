import { type Ids, randomIds, seededIds } from "../../src/base/ids.ts";
import type { Store } from "../store/port.ts";

/** The ids of one emulator, which begin again with its state. */
export interface RenewableIds extends Ids {
  /** From the seed: at the first start and at every reset. */
  restart(): void;
  /**
   * Over a state that was there before, after a restart or an import: a sequence of its own, so that no id in the
   * state is drawn a second time. Its number is kept in the state.
   */
  goOn(store: Store): Promise<void>;
}

/** `seed`: what the sequence follows from, with --deterministic; undefined: ids are random. */
export function renewableIds(seed: string | undefined): RenewableIds {
  let ids: Ids = seed === undefined ? randomIds() : seededIds(seed);
  return {
    uuid: () => ids.uuid(),
    bytes: (count) => ids.bytes(count),
    token: (count) => ids.token(count),
    pick: (alphabet, length) => ids.pick(alphabet, length),
    restart() {
      if (seed !== undefined) ids = seededIds(seed);
    },
    async goOn(store) {
      if (seed === undefined) return;
      const part = await store.transaction("go on with ids", (tx) => tx.next("id_sequence"));
      ids = seededIds(`${seed}\0${part}`);
    },
  };
}
