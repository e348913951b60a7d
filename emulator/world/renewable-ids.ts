import * as z from "zod";
import { type Ids, randomIds, seededIds } from "../../src/base/ids.ts";
import type { Store } from "../store/port.ts";

/** The ids of one emulator, which begin again with its state. */
export interface RenewableIds extends Ids {
  /** From the seed: at the first start and at every reset. */
  restart(): void;
  /**
   * Over a state that was there before, after a restart or an import: the beginning of a sequence of its own, so that no id
   * in the state is drawn a second time. Its number is kept in the state. Nothing is drawn of it before `goTo`.
   */
  newSequence(store: Store): Promise<IdPosition | undefined>;
  /** Where the sequence stands; undefined where ids are random. */
  place(): IdPosition | undefined;
  /** Draws what comes after that place, also again: for a state that was kept there. */
  goTo(place: IdPosition | undefined): void;
}

/** The number of a sequence, 0 for that of the first start, and how far it was drawn. */
export const IdPosition = z.strictObject({ sequence: z.int().min(0), drawn: z.int().min(0) });
export type IdPosition = z.infer<typeof IdPosition>;

/** `seed`: what the sequence follows from, with --deterministic; undefined: ids are random. */
export function renewableIds(seed: string | undefined): RenewableIds {
  if (seed === undefined) {
    return { ...randomIds(), restart() {}, newSequence: async () => undefined, place: () => undefined, goTo() {} };
  }
  const begin = (sequence: number, drawn = 0) => seededIds(sequence === 0 ? seed : `${seed}\0${sequence}`, drawn);
  let sequence = 0;
  let ids = begin(0);
  const goTo = (place: IdPosition | undefined) => {
    if (place === undefined) return;
    sequence = place.sequence;
    ids = begin(place.sequence, place.drawn);
  };
  return {
    uuid: () => ids.uuid(),
    bytes: (count) => ids.bytes(count),
    token: (count) => ids.token(count),
    pick: (alphabet, length) => ids.pick(alphabet, length),
    restart: () => goTo({ sequence: 0, drawn: 0 }),
    newSequence: async (store) => ({
      sequence: await store.transaction("go on with ids", (tx) => tx.next("id_sequence")),
      drawn: 0,
    }),
    place: () => ({ sequence, drawn: ids.position() }),
    goTo,
  };
}
