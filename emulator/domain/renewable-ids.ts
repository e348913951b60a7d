import * as z from "zod";
import { createRandomIds, createSeededIds, type Ids } from "../../src/base/ids.ts";
import type { Store } from "../store/port.ts";

/** The IDs of one emulator. Their sequence restarts with the state. */
export interface RenewableIds extends Ids {
  /** Restarts the IDs from the seed, at the first start and at every reset. */
  restart(): void;
  /** Starts a new stored sequence, so that no ID is repeated. `moveTo` must be called before an ID is drawn. */
  startSequence(store: Store): Promise<IdPosition | undefined>;
  /** Returns the position of the sequence, or undefined if IDs are random. */
  getPosition(): IdPosition | undefined;
  /** Continues after the position that was stored with a state. */
  moveTo(position: IdPosition | undefined): void;
}

/** Number of a sequence, from 0, and the number of bytes drawn from it. */
export const IdPosition = z.strictObject({ sequence: z.int().min(0), drawn: z.int().min(0) });
export type IdPosition = z.infer<typeof IdPosition>;

/** Creates IDs from a seed. Without a `seed`, they are random. */
export function createRenewableIds(seed: string | undefined): RenewableIds {
  if (seed === undefined) {
    return {
      ...createRandomIds(),
      restart() {},
      startSequence: async () => undefined,
      getPosition: () => undefined,
      moveTo() {},
    };
  }
  const createIds = (sequence: number, drawnBytes = 0) =>
    createSeededIds(sequence === 0 ? seed : `${seed}\0${sequence}`, drawnBytes);
  let sequence = 0;
  let ids = createIds(0);
  const moveTo = (position: IdPosition | undefined) => {
    if (position === undefined) return;
    sequence = position.sequence;
    ids = createIds(position.sequence, position.drawn);
  };
  return {
    uuid: () => ids.uuid(),
    bytes: (count) => ids.bytes(count),
    token: (count) => ids.token(count),
    pick: (alphabet, length) => ids.pick(alphabet, length),
    restart: () => moveTo({ sequence: 0, drawn: 0 }),
    startSequence: async (store) => ({
      sequence: await store.transaction("go on with ids", (tx) => tx.next("id_sequence")),
      drawn: 0,
    }),
    getPosition: () => ({ sequence, drawn: ids.position() }),
    moveTo,
  };
}
