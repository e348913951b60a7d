import { isDeepStrictEqual } from "node:util";
import { nextTurn } from "../../../src/base/next-turn.ts";
import type { AnyRows, Collection, Mapping, PassingContents, Store } from "../../store/port.ts";

/** A row that is there in one state alone, or is another in the other. */
export interface RowChange {
  readonly collection: AnyRows;
  readonly key: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

export type Row = Readonly<Record<string, unknown>>;

/** How many identifiers of a table are there in one state alone, or belong to another cluster. */
export interface MappingChange {
  readonly table: string;
  readonly added: number;
  readonly removed: number;
  readonly moved: number;
}

export interface SequenceChange {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

export interface Changes {
  readonly rows: readonly RowChange[];
  readonly mappings: readonly MappingChange[];
  readonly sequences: readonly SequenceChange[];
}

/** After so many identifiers others have their turn. */
const atATime = 10_000;

/**
 * What is different in `after`, which others may write to meanwhile: it is looked at as it is when this begins. `before`
 * stands still. Collections in the order in which they are given, rows in that of their insertion, those that are gone last.
 */
export async function compare(before: Store, after: Store, collections: readonly Collection[]): Promise<Changes> {
  const [there, here] = [await before.contents(), await after.contents()];
  try {
    const rows: RowChange[] = [];
    const mappings: MappingChange[] = [];
    for (const one of collections) {
      if (one.kind === "rows") rows.push(...rowChanges(one, there, here));
      else mappings.push(await mappingChange(one, before, here));
    }
    const names = [...new Set([...there.sequences.keys(), ...here.sequences.keys()])].sort();
    const sequences = names.map((name) => ({
      name,
      from: there.sequences.get(name) ?? 0,
      to: here.sequences.get(name) ?? 0,
    }));
    return {
      rows,
      mappings: mappings.filter(({ added, removed, moved }) => added + removed + moved > 0),
      sequences: sequences.filter(({ from, to }) => from !== to),
    };
  } finally {
    there.end();
    here.end();
  }
}

function rowChanges(collection: AnyRows, there: PassingContents, here: PassingContents): RowChange[] {
  const keyOf = (row: Row) => String(collection.key(row as never));
  const left = new Map([...rowsOf(there, collection)].map((row) => [keyOf(row), row]));
  const changes: RowChange[] = [];
  for (const after of rowsOf(here, collection)) {
    const key = keyOf(after);
    const before = left.get(key);
    left.delete(key);
    if (before === undefined || !isSame(before, after)) changes.push({ collection, key, before, after });
  }
  for (const [key, before] of left) changes.push({ collection, key, before, after: undefined });
  return changes;
}

function* rowsOf({ rows }: PassingContents, { name }: AnyRows): Generator<Row, void> {
  for (const slice of rows.get(name) ?? []) yield* slice as readonly Row[];
}

/** As documents show them: a member that is undefined is none. */
const isSame = (a: Row, b: Row): boolean =>
  a === b || isDeepStrictEqual(a, b) || isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));

async function mappingChange(table: Mapping, before: Store, here: PassingContents): Promise<MappingChange> {
  let [added, moved, common] = [0, 0, 0];
  const entries = here.mappings.get(table.name) ?? [];
  let some: (readonly [string, string])[] = [];
  const look = async () => {
    await before.read(async (view) => {
      for (const [identifier, cluster] of some) {
        const owner = await view.lookup(table, identifier);
        if (owner === undefined) added += 1;
        else if (owner === cluster) common += 1;
        else moved += 1;
      }
    });
    some = [];
    await nextTurn();
  };
  for (const entry of entries) {
    some.push(entry);
    if (some.length === atATime) await look();
  }
  if (some.length > 0) await look();
  const size = await before.read((view) => view.size(table));
  return { table: table.name, added, removed: size - common - moved, moved };
}
