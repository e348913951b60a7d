import * as z from "zod";
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
  /** Where the sequence stands; undefined where ids are random. */
  place(): IdPlace | undefined;
  /** Draws again what came after that place: for a state that was kept there. */
  goBackTo(place: IdPlace): void;
}

/** The number of a sequence, 0 for that of the first start, and how far it was drawn. */
export const IdPlace = z.strictObject({ sequence: z.int().min(0), drawn: z.int().min(0) });
export type IdPlace = z.infer<typeof IdPlace>;

/** `seed`: what the sequence follows from, with --deterministic; undefined: ids are random. */
export function renewableIds(seed: string | undefined): RenewableIds {
  if (seed === undefined) {
    return { ...randomIds(), restart() {}, async goOn() {}, place: () => undefined, goBackTo() {} };
  }
  const begin = (sequence: number, drawn = 0) => seededIds(sequence === 0 ? seed : `${seed}\0${sequence}`, drawn);
  let sequence = 0;
  let ids = begin(0);
  const goTo = (place: IdPlace) => {
    sequence = place.sequence;
    ids = begin(place.sequence, place.drawn);
  };
  return {
    uuid: () => ids.uuid(),
    bytes: (count) => ids.bytes(count),
    token: (count) => ids.token(count),
    pick: (alphabet, length) => ids.pick(alphabet, length),
    restart: () => goTo({ sequence: 0, drawn: 0 }),
    async goOn(store) {
      goTo({ sequence: await store.transaction("go on with ids", (tx) => tx.next("id_sequence")), drawn: 0 });
    },
    place: () => ({ sequence, drawn: ids.position() }),
    goBackTo: goTo,
  };
}
