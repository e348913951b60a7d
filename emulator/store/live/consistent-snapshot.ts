import type { Collection, ConsistentContents } from "../port.ts";
import type { State } from "./state.ts";

/** How many rows are written down at a time. */
export const sliceRows = 4_000;

/** What a state holds, for whoever writes it down piece by piece; to be gone through once. */
export interface Contents extends Omit<ConsistentContents, "end"> {
  readonly collections: readonly Collection[];
}

/**
 * What the state holds now, however it is written to until `end`. Rows are frozen, so a list of them is all that it takes;
 * of mappings, what is changed meanwhile is kept as it was.
 */
export function consistentSnapshot(state: State): Contents & ConsistentContents {
  const pictures = [...state.mappings].map(([name, table]) => [name, table.takeSnapshot()] as const);
  return {
    collections: state.collections,
    sequences: new Map(state.sequences),
    rows: new Map([...state.rows].map(([name, table]) => [name, slicesOf(table.list({}))])),
    mappings: new Map(pictures.map(([name, { entries }]) => [name, entries])),
    end() {
      for (const [, picture] of pictures) picture.end();
    },
  };
}

function* slicesOf(rows: readonly object[]): Generator<readonly object[], void> {
  for (let at = 0; at < rows.length; at += sliceRows) yield rows.slice(at, at + sliceRows);
}
