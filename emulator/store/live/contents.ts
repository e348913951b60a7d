import type { Collection, PassingContents } from "../port.ts";
import type { RowTable } from "./row-table.ts";
import type { State } from "./state.ts";

/** How many rows are written down at a time. */
export const sliceRows = 4_000;

/** What a state holds, for whoever writes it down piece by piece; to be gone through once. */
export interface Contents extends Omit<PassingContents, "end"> {
  readonly collections: readonly Collection[];
}

/**
 * The state may be written to meanwhile, between two pieces: what stays is in the contents; what is changed, in its old
 * or new form; sequences as they are when they are read.
 */
export function passingContents(state: State): Contents {
  return {
    collections: state.collections,
    sequences: state.sequences,
    rows: new Map([...state.rows].map(([name, table]) => [name, passingRows(table, table.lastOrdinal)])),
    mappings: new Map([...state.mappings].map(([name, table]) => [name, table.entries()])),
  };
}

/** Rows that are added from now on are left out: without a bound a busy table would never end. */
function* passingRows(table: RowTable, last: number): Generator<object[], void> {
  for (let at = 0; ; ) {
    const entries = table.after(at, sliceRows).filter((entry) => entry.ordinal <= last);
    if (entries.length === 0) return;
    at = entries.at(-1)!.ordinal;
    yield entries.map(({ row }) => row);
  }
}

/**
 * What the state holds now, however it is written to until `end`. Rows are frozen, so a list of them is all that it takes;
 * of mappings, what is changed meanwhile is kept as it was.
 */
export function contentsNow(state: State): Contents & PassingContents {
  const pictures = [...state.mappings].map(([name, table]) => [name, table.picture()] as const);
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
