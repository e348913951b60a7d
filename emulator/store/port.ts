import type * as z from "zod";

/** What an index may order by; the values of one index are of one type. */
export type IndexValue = string | number;

/** Makes a row of one version of its collection a row of the next. Pure: it may run again after a crash. */
export type Migration = (row: Readonly<Record<string, unknown>>) => object;

interface Versioned {
  /**
   * Of the shape of the rows, from 1, which is meant when it is left out. Raised with every change of the schema or of
   * the meaning of a field after which a row of before is wrong.
   */
  readonly version?: number;
  /** A step for each version but the first: `migrate[0]` makes a row of version 1 one of version 2, of the same key. */
  readonly migrate?: readonly Migration[];
}

/**
 * A collection of objects, declared once. `key` is unique. Every index is ordered by its value, then by the
 * primary key's order of insertion; a row for which an index returns undefined is not in that index, and an
 * array places it there under each of its values.
 */
export interface Rows<Row extends object, Index extends string = string> extends Versioned {
  readonly kind: "rows";
  readonly name: string;
  readonly schema: z.ZodType<Row>;
  readonly key: (row: Row) => string;
  readonly indexes: Readonly<Record<Index, (row: Row) => IndexValue | readonly IndexValue[] | undefined>>;
}

/** A table from an identifier to the id of the cluster that owns it: no object per row. */
export interface Mapping {
  readonly kind: "mapping";
  readonly name: string;
}

/** A collection of rows, whatever they are. */
export interface AnyRows extends Versioned {
  readonly kind: "rows";
  readonly name: string;
  readonly schema: z.ZodType<object>;
  readonly key: (row: never) => string;
  readonly indexes: Readonly<Record<string, (row: never) => IndexValue | readonly IndexValue[] | undefined>>;
}

export type Collection = AnyRows | Mapping;

export const rows = <Row extends object, Index extends string = never>(
  declaration: Omit<Rows<Row, Index>, "kind">,
): Rows<Row, Index> => ({ kind: "rows", ...declaration });

export const mapping = (name: string): Mapping => ({ kind: "mapping", name });

/** A slice of an index: `equals`, or from `from` (inclusive) to `to` (inclusive). */
export interface Slice<Index extends string> {
  /** Omitted: the order of insertion. */
  readonly by?: Index;
  readonly equals?: IndexValue;
  readonly from?: IndexValue;
  readonly to?: IndexValue;
  readonly reverse?: boolean;
  /** How many rows to pass over first. */
  readonly offset?: number;
  readonly limit?: number;
}

/** A consistent picture of the state: no transaction writes while it is open. */
export interface View {
  get<Row extends object>(from: Rows<Row>, key: string): Promise<Row | undefined>;
  /** The rows that many things refer to, each in the place of its thing; without a key, or a row, undefined. */
  getAll<Row extends object, Thing>(
    from: Rows<Row>,
    things: readonly Thing[],
    keyOf: (thing: Thing) => string | undefined,
  ): Promise<readonly (Row | undefined)[]>;
  list<Row extends object, Index extends string>(from: Rows<Row, Index>, slice?: Slice<Index>): Promise<readonly Row[]>;
  /** The number of rows, or of those in the slice (its offset and limit aside). */
  count<Row extends object, Index extends string>(from: Rows<Row, Index>, slice?: Slice<Index>): Promise<number>;
  /** The cluster that owns an identifier. */
  lookup(from: Mapping, identifier: string): Promise<string | undefined>;
  /** The number of identifiers in a mapping table. */
  size(from: Mapping): Promise<number>;
}

export interface Transaction extends View {
  /** Adds a row or replaces the one with the same key. The row is frozen. */
  put<Row extends object>(into: Rows<Row>, row: NoInfer<Row>): void;
  /** Does nothing when there is no such row. */
  delete<Row extends object>(from: Rows<Row>, key: string): void;
  /** Maps identifiers to a cluster; the last writer wins. Says how many belonged to another cluster before. */
  map(into: Mapping, cluster: string, identifiers: readonly string[]): { readonly moved: number };
  /** Removes those identifiers that belong to the cluster. Says how many. */
  unmap(from: Mapping, cluster: string, identifiers: readonly string[]): { readonly removed: number };
  /** The next number of a sequence, from 1. */
  next(sequence: string): number;
}

/**
 * The state behind the emulator. Asynchronous, so that a database can stand behind it. What a store has to promise is
 * said here and held against each by one suite (`test/emulator/store/port`): transactions are one after the other, in the
 * order in which they were begun; a reader sees all of a transaction or nothing of it; a view and a transaction cannot be
 * used after their end; rows are frozen; identifiers, keys and texts of any letters come back as they went in.
 */
export interface Store {
  /**
   * Reads a consistent picture; waits while a transaction is open, and shows what it committed. What is shown may still be
   * on its way to the disk: whoever tells it to somebody or acts on it asks for `durable()` at the end of the read.
   */
  read<T>(work: (view: View) => Promise<T> | T): Promise<T>;
  /**
   * All or nothing. Resolves once it is durable. `name` is the operation, for messages. A transaction inside
   * another, or one open for more than 2 s of wall time, is rolled back and fails as a bug of the emulator.
   */
  transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T): Promise<T>;
  /**
   * Calls after each commit that touched the collection, once it is durable. `changed` must not throw. Returns the
   * function that ends it.
   */
  watch(collection: Collection, changed: () => void): () => void;
  /**
   * The whole state as the text of one JSON document, in pieces; `replace` takes it back. It is the state of the moment
   * at which its first piece is asked for: others write meanwhile, none waits for the reader, and none of it shows.
   */
  export(): AsyncIterable<string>;
  /**
   * Puts the state of an exported document in the place of everything. All or nothing, durable. Fails with
   * StateRefused when the document is not a state.
   */
  replace(document: unknown): Promise<void>;
  /** Drops everything and lets `fill` write the new beginning. All or nothing, durable. */
  reset(name: string, fill: (tx: Transaction) => Promise<void> | void): Promise<void>;
  /**
   * Resolves once all that was committed before is durable; begins nothing and waits for no transaction that is open.
   * Fails with StoreFailed when the disk refuses, after what is lost by it was taken back, and when the store is closed.
   */
  durable(): Promise<void>;
  /** False from a failed write to disk until one succeeds again: reads go on, transactions fail. */
  readonly writable: boolean;
  /** Compacts and closes. */
  close(): Promise<void>;
}

/** A document or file that holds no state, or a damaged one. The message says what is wrong, and where. */
export class StateRefused extends Error {
  override readonly name = "StateRefused";
  /** False when nothing is damaged: it is of another version of svc, or somebody else's. */
  readonly repairable: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly repairable?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.repairable = options.repairable ?? true;
  }
}

/** The disk refused; nothing was written. Answers 503. */
export class StoreFailed extends Error {
  override readonly name = "StoreFailed";
}

/** The state cannot be used as things stand on this machine: no room, no rights. The message says what to do. */
export class StateUnusable extends Error {
  override readonly name = "StateUnusable";
}
