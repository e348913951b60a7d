import type { AnyRows, IndexQuery, IndexValue, RowKey } from "../port.ts";
import { type ItemRange, SortedList } from "./sorted-list.ts";

/** A row in its table. The ordinal is its position in the order of insertion, which a replacement does not change. */
export interface StoredRow {
  readonly ordinal: number;
  row: object;
}

interface Index {
  readonly name: string;
  readonly createEntry: (row: object) => IndexEntry;
  readonly list: SortedList<StoredRow>;
}

type IndexEntry = IndexValue | readonly IndexValue[] | undefined;

/** The rows of one collection in memory, with their order of insertion and their secondary indexes. */
export class RowTable {
  readonly declaration: AnyRows;
  readonly #getKey: (row: object) => RowKey;
  readonly #entries = new Map<RowKey, StoredRow>();
  readonly #insertion = new SortedList<StoredRow>();
  readonly #indexes: readonly Index[];
  #nextOrdinal = 1;

  constructor(declaration: AnyRows) {
    this.declaration = declaration;
    this.#getKey = declaration.key as (row: object) => RowKey;
    this.#indexes = Object.entries(declaration.indexes).map(([name, createEntry]) => ({
      name,
      createEntry: createEntry as Index["createEntry"],
      list: new SortedList(),
    }));
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: RowKey | null | undefined): object | undefined {
    return this.#entries.get(key as RowKey)?.row;
  }

  /** Adds or replaces a row and freezes it. Returns the previous row. */
  put(row: object): { readonly key: RowKey; readonly before: object | undefined } {
    freezeDeep(row);
    const key = this.#getKey(row);
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.restore(key, { ordinal: this.#nextOrdinal, row });
      this.#nextOrdinal += 1;
      return { key, before: undefined };
    }
    const before = entry.row;
    for (const { createEntry, list } of this.#indexes) {
      const oldEntry = createEntry(before);
      const newEntry = createEntry(row);
      if (oldEntry === newEntry) continue;
      removeEntry(list, oldEntry, entry);
      insertEntry(list, newEntry, entry);
    }
    entry.row = row;
    return { key, before };
  }

  /** Returns the previous entry, for `restore`. */
  delete(key: RowKey): StoredRow | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#insertion.remove(entry.ordinal, entry.ordinal);
    for (const { createEntry, list } of this.#indexes) removeEntry(list, createEntry(entry.row), entry);
    return entry;
  }

  /** Removes the row of that key as if it had never been put. */
  remove(row: object): void {
    this.delete(this.#getKey(row));
  }

  /** Inserts an entry at its position in the order of insertion. Its key must be unused. */
  restore(key: RowKey, entry: StoredRow): void {
    this.#entries.set(key, entry);
    this.#insertion.insert(entry.ordinal, entry);
    for (const { createEntry, list } of this.#indexes) insertEntry(list, createEntry(entry.row), entry);
  }

  list(slice: IndexQuery<string>): object[] {
    const [list, { block, start, end }] = this.#findRange(slice);
    const { offset = 0, limit = Number.POSITIVE_INFINITY } = slice;
    if (!slice.reverse) return list.slice(start + offset, Math.min(end, start + offset + limit), block).map(getRow);
    return list
      .slice(Math.max(start, end - offset - limit), end - offset, block)
      .reverse()
      .map(getRow);
  }

  count(slice: IndexQuery<string>): number {
    const [, { start, end }] = this.#findRange(slice);
    return Math.max(0, end - start);
  }

  #findRange(slice: IndexQuery<string>): [list: SortedList<StoredRow>, range: ItemRange] {
    if (slice.by === undefined) return [this.#insertion, this.#insertion.findRange()];
    const { list } = this.#indexes.find(({ name }) => name === slice.by)!;
    return [list, list.findRange(slice.equals ?? slice.from, slice.equals ?? slice.to)];
  }
}

const getRow = (entry: StoredRow): object => entry.row;

function insertEntry(list: SortedList<StoredRow>, indexEntry: IndexEntry, entry: StoredRow): void {
  if (indexEntry === undefined) return;
  if (typeof indexEntry !== "object") list.insert(indexEntry, entry);
  else for (const value of new Set(indexEntry)) list.insert(value, entry);
}

function removeEntry(list: SortedList<StoredRow>, indexEntry: IndexEntry, { ordinal }: StoredRow): void {
  if (indexEntry === undefined) return;
  if (typeof indexEntry !== "object") list.remove(indexEntry, ordinal);
  else for (const value of new Set(indexEntry)) list.remove(value, ordinal);
}

/** Freezes a row with its lists and objects, because rows are handed out by reference. */
function freezeDeep(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const name in value) {
    const part: unknown = value[name as keyof object];
    if (typeof part === "object" && part !== null) freezeDeep(part);
  }
}
