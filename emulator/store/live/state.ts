import { EmulatorBugError } from "../../../src/base/errors.ts";
import type { Collection, ConsistentContents, RowKey } from "../port.ts";
import { MappingTable } from "./mapping-table.ts";
import { RowTable } from "./row-table.ts";

/**
 * One change of a transaction, with absolute values. Applying a list of changes again to a state that already has some
 * of them gives the same state. A line of the journal contains such a list.
 */
export type Change =
  | readonly ["put", collection: string, row: object]
  | readonly ["delete", collection: string, key: RowKey]
  | readonly ["map", collection: string, cluster: string, identifiers: readonly string[]]
  | readonly ["unmap", collection: string, cluster: string, identifiers: readonly string[]]
  | readonly ["next", sequence: string, last: number];

/** Parses the changes in a line of the journal. Returns undefined for any other line. Rows are not validated. */
export const parseChanges = (line: unknown): readonly Change[] | undefined =>
  Array.isArray(line) && line.every(isChange) ? line : undefined;

function isChange(value: unknown): value is Change {
  if (!Array.isArray(value) || typeof value[1] !== "string") return false;
  const [kind, , third, fourth] = value;
  switch (kind) {
    case "put":
      return value.length === 3 && typeof third === "object" && third !== null && !Array.isArray(third);
    case "delete":
      return value.length === 3 && (isText(third) || Number.isSafeInteger(third));
    case "map":
    case "unmap":
      return value.length === 4 && isText(third) && Array.isArray(fourth) && fourth.every(isText);
    default:
      return kind === "next" && value.length === 3 && Number.isSafeInteger(third) && third >= 0;
  }
}

const isText = (value: unknown): value is string => typeof value === "string";

export class State {
  readonly collections: readonly Collection[];
  readonly rows = new Map<string, RowTable>();
  readonly mappings = new Map<string, MappingTable>();
  /** The last used number of each sequence. */
  readonly sequences = new Map<string, number>();

  constructor(collections: readonly Collection[]) {
    this.collections = collections;
    for (const collection of collections) {
      const { name } = collection;
      if (this.rows.has(name) || this.mappings.has(name))
        throw new EmulatorBugError(`Two collections have the name ${name}`);
      if (collection.kind === "rows") this.rows.set(name, new RowTable(collection));
      else this.mappings.set(name, new MappingTable());
    }
  }

  getTable(name: string): RowTable {
    return this.rows.get(name) ?? throwUndeclared(name);
  }

  getMapping(name: string): MappingTable {
    return this.mappings.get(name) ?? throwUndeclared(name);
  }

  apply(change: Change): void {
    const [kind, name] = change;
    if (kind === "put") this.getTable(name).put(change[2]);
    else if (kind === "delete") this.getTable(name).delete(change[2]);
    else if (kind === "map") this.getMapping(name).map(change[2], change[3]);
    else if (kind === "unmap") this.getMapping(name).unmap(change[2], change[3]);
    else this.sequences.set(name, change[2]);
  }

  /**
   * Returns the present contents, unaffected by writes until `end`. Rows are frozen, so a list of references is enough.
   */
  takeSnapshot(): ConsistentContents {
    const mappings = [...this.mappings].map(([name, table]) => [name, table.takeSnapshot()] as const);
    return {
      collections: this.collections,
      sequences: new Map(this.sequences),
      rows: new Map([...this.rows].map(([name, table]) => [name, table.list({})])),
      mappings: new Map(mappings.map(([name, { entries }]) => [name, entries])),
      end() {
        for (const [, snapshot] of mappings) snapshot.end();
      },
    };
  }
}

function throwUndeclared(name: string): never {
  throw new EmulatorBugError(
    `Collection ${name} is not in the list the store was opened with (emulator/compose/state/collections.ts)`,
  );
}
