import type * as z from "zod";
import type { LogPosition } from "../../src/files/log-line.ts";
import type { Cause } from "./cause.ts";
import type { Commit, HistoryStart, Moment } from "./history.ts";

/** What an index may order by; the values of one index are of one type. */
export type IndexValue = string | number;

/** What names a row in its collection: the number of those that are numbered, else a string. */
export type RowKey = string | number;
type KeyOf<Row> = Row extends { readonly id: number } ? number : string;

/** The key of a numbered row that a string names; NaN, which no row has, where it is not written as numbers are. */
export const rowNumber = (text: string): number => (String(Number(text)) === text ? Number(text) : Number.NaN);

/** Makes a row of one version of its collection a row of the next. Pure: it may run again after a crash. */
export type Migration = (row: Readonly<Record<string, unknown>>) => object;

interface Versioned {
  /**
   * Of the shape of the rows, from 1, which is meant when it is omitted. Raised with every change of the schema or of
   * the meaning of a field after which a row of before is wrong.
   */
  readonly version?: number;
  /** A step for each version but the first: `migrate[0]` makes a row of version 1 one of version 2, of the same key. */
  readonly migrate?: readonly Migration[];
}

type References = Readonly<Record<string, { readonly collection: string; readonly key: RowKey }>>;

/**
 * A collection of objects, declared once. `key` is unique. Every index is ordered by its value, then by the
 * primary key's order of insertion; a row for which an index returns undefined is not in that index, and an
 * array places it there under each of its values.
 */
export interface Rows<Row extends object, Index extends string = string, Key extends RowKey = RowKey>
  extends Versioned {
  readonly kind: "rows";
  readonly name: string;
  readonly schema: z.ZodType<Row>;
  readonly key: (row: Row) => Key;
  /**
   * The sequences that its numbers are of: after a document that somebody may have edited they continue behind them.
   */
  readonly numbers?: Readonly<Record<string, (row: Row) => number | readonly number[]>>;
  /** Rows of other collections without which nothing works, by field: a document that lacks one is rejected. */
  readonly refersTo?: (row: Row) => References;
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
  readonly key: (row: never) => RowKey;
  readonly numbers?: Readonly<Record<string, (row: never) => number | readonly number[]>>;
  readonly refersTo?: (row: never) => References;
  readonly indexes: Readonly<Record<string, (row: never) => IndexValue | readonly IndexValue[] | undefined>>;
}

export type Collection = AnyRows | Mapping;

export const rows = <Row extends object, Index extends string = never, Key extends RowKey = KeyOf<Row>>(
  declaration: Omit<Rows<Row, Index, Key>, "kind">,
): Rows<Row, Index, Key> => ({ kind: "rows", ...declaration });

export const mapping = (name: string): Mapping => ({ kind: "mapping", name });

/** A slice of an index: `equals`, or from `from` (inclusive) to `to` (inclusive). */
export interface Slice<Index extends string> {
  /** Omitted: the order of insertion. */
  readonly by?: Index;
  readonly equals?: IndexValue;
  readonly from?: IndexValue;
  readonly to?: IndexValue;
  readonly reverse?: boolean;
  /** How many rows to skip first. */
  readonly offset?: number;
  readonly limit?: number;
}

/** A consistent picture of the state: no transaction writes while it is open. */
export interface View {
  get<Row extends object, Key extends RowKey>(
    from: Rows<Row, string, Key>,
    key: NoInfer<Key>,
  ): Promise<Row | undefined>;
  /** The rows that many things refer to, each instead of its thing; without a key, or a row, undefined. */
  getAll<Row extends object, Key extends RowKey, Thing>(
    from: Rows<Row, string, Key>,
    things: readonly Thing[],
    keyOf: (thing: Thing) => NoInfer<Key> | undefined,
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
  /** As `get`, at once, as writes are: for what is done to thousands of rows, where a promise for each is felt. */
  getSync<Row extends object, Key extends RowKey>(from: Rows<Row, string, Key>, key: NoInfer<Key>): Row | undefined;
  /** Adds a row or replaces the one with the same key. The row is frozen. */
  put<Row extends object>(into: Rows<Row>, row: NoInfer<Row>): void;
  /** Does nothing when there is no such row. */
  delete<Row extends object, Key extends RowKey>(from: Rows<Row, string, Key>, key: NoInfer<Key>): void;
  /** Maps identifiers to a cluster; the last writer wins. Says how many belonged to another cluster before. */
  map(into: Mapping, cluster: string, identifiers: readonly string[]): { readonly moved: number };
  /** Removes those identifiers that belong to the cluster. Says how many. */
  unmap(from: Mapping, cluster: string, identifiers: readonly string[]): { readonly removed: number };
  /** The next number of a sequence, from 1. */
  next(sequence: string): number;
  /** Why it is made; undefined if nobody asked for it: at the beginning, and where the emulator tidies up. */
  readonly cause: Cause | undefined;
  /**
   * Does a part of it that has a cause of its own, one part after the other. As for the whole, the cause's row is written
   * with what follows, once, and not at all where nothing is changed.
   */
  because<T>(cause: Cause | undefined, work: () => Promise<T> | T): Promise<T>;
}

/** What a transaction did to one row: undefined before it was there, or once it is gone. */
export interface RowChange {
  readonly collection: string;
  readonly before: object | undefined;
  readonly after: object | undefined;
}

/** Members at the top of a document: what somebody else than the store wants to find there again. */
export type DocumentHead = Readonly<Record<string, unknown>>;

/** A state that stands next to the one that is served. */
export interface LoadedState {
  /** All members of the document before its sections. */
  readonly head: DocumentHead;
  readonly store: Store;
}

/** Everything that a state held at one moment. */
export interface ConsistentContents {
  readonly sequences: ReadonlyMap<string, number>;
  /** By collection, in the order of insertion, a few thousand at a time. */
  readonly rows: ReadonlyMap<string, Iterable<readonly object[]>>;
  readonly mappings: ReadonlyMap<string, Iterable<readonly [identifier: string, cluster: string]>>;
  /** Nobody reads it any more. */
  end(): void;
}

/** What happens on the way, while nobody reads or writes. */
export interface TakeoverHooks {
  /** Puts aside what is left: the present state, as `export` gives it. What it rejects with keeps all as it is. */
  readonly keep?: ((present: AsyncIterable<string>) => Promise<void>) | undefined;
  /** At the top of that document, as for `export`. */
  readonly head?: (() => DocumentHead) | undefined;
  /** After which line of this store's history the new state was; omitted: it is none of them. */
  readonly past?: LogPosition | undefined;
  /** When that state was, for whoever comes to the end of its history; omitted: now. */
  readonly moment?: Moment | undefined;
  /** In the moment in which the new state is there: nothing that was begun before comes after it. */
  readonly tookOver?: (() => void) | undefined;
}

/** What led to the present state, as far back as it is stored. */
export interface History {
  /** Where the log stands now, in this very moment. */
  place(): LogPosition;
  /**
   * Visits the commits that led to the present state, the newest first, until `visit` returns false or no more are
   * stored. Those of states that were left do not count. Resolves with how far back the history reaches where it came
   * to its end.
   */
  visit(visit: (commit: Commit) => boolean): Promise<HistoryStart | undefined>;
  /**
   * The state after the line of that number, which `visit` has named, or the one before such a line. Stands next to the
   * present one. Fails with StateFormatError where its files are damaged or gone.
   */
  stateAfter(number: number): Promise<{ readonly store: Store; readonly past: LogPosition }>;
}

/**
 * The state behind the emulator. Asynchronous, so that a database can stand behind it. What a store has to promise is
 * said here and held against each by one suite (`test/emulator/store/port`): transactions are one after the other, in
 * the order in which they were begun; a reader sees all of a transaction or nothing of it; a view and a transaction
 * cannot be used after their end; rows are frozen; identifiers, keys and strings of any letters come back as they went
 * in.
 */
export interface Store {
  /**
   * Reads a consistent picture; waits while a transaction is open, and shows what it committed. What is shown may still be
   * on its way to the disk: whoever tells it to somebody or acts on it asks for `durable()` at the end of the read.
   */
  read<T>(work: (view: View) => Promise<T> | T): Promise<T>;
  /**
   * All or nothing. Resolves once it is durable. `name` is the operation, for messages. A transaction inside another,
   * or one open for more than 2 s of wall-clock time, is rolled back and fails as a bug of the emulator. One that
   * waited while another state took the place of this one, or whose cause is left, fails with StateReplacedError. What
   * it writes says why (`cause`), and the cause's own row is part of it; null: nobody asked for it, whoever calls.
   */
  transaction<T>(name: string, work: (tx: Transaction) => Promise<T> | T, cause?: Cause | null): Promise<T>;
  /**
   * Calls after each commit that touched the collection, once it is durable, and when the store can be written again after
   * it could not. `onlyDeleted`: nothing was done to it but that rows were deleted. `changed` must not throw. Returns the
   * function that ends it.
   */
  watch(collection: Collection, changed: (onlyDeleted: boolean) => void): () => void;
  /**
   * Calls after each commit that touched one of the collections, once it is durable, with what it did to their rows, in
   * order; with undefined when another state took the place of this one. `changed` must not throw. Returns the function
   * that ends it.
   */
  watchRows(collections: readonly AnyRows[], changed: (changes: readonly RowChange[] | undefined) => void): () => void;
  /**
   * The whole state as the text of one JSON document, in pieces; `replace` takes it back. It is the state of the moment
   * at which its first piece is asked for: others write meanwhile, none waits for the reader, and none of it shows.
   * `head` is called in that moment; its members are at the top of the document, and mean nothing to the store.
   */
  export(head?: () => DocumentHead): AsyncIterable<string>;
  /** What the state holds now, to be gone through once; it must be ended. */
  contents(): Promise<ConsistentContents>;
  /** A store with nothing in it and nowhere to keep it, for a state that is to take the place of this one. */
  beside(): Store;
  /**
   * Reads a sealed document (`file/sealed.ts`) into a store next to this one, which stays as it is. Fails with
   * StateFormatError when it is damaged, of another version, or none.
   */
  load(document: AsyncIterable<Uint8Array>): Promise<LoadedState>;
  /**
   * Puts the state of an exported document instead of everything. All or nothing, durable. Fails with StateFormatError
   * when the document is not a state.
   */
  replace(document: unknown): Promise<void>;
  /**
   * Puts the state of a store that stood next to instead of everything; that store must not be used any more. All or
   * nothing, durable.
   */
  takeOver(next: Store, moments?: TakeoverHooks): Promise<void>;
  /** Drops everything and lets `fill` write the new beginning. All or nothing, durable. */
  reset(name: string, fill: (tx: Transaction) => Promise<void> | void): Promise<void>;
  /**
   * Resolves once all that was committed before is durable; begins nothing and waits for no transaction that is open.
   * Fails with StoreFailedError when the disk rejects, after what is lost by it was taken back, and when the store is
   * closed.
   */
  durable(): Promise<void>;
  /** What led to the present state; undefined if nothing of it is stored. */
  readonly history?: History | undefined;
  /** False from a failed write to disk until one succeeds again: reads continue, transactions fail. */
  readonly writable: boolean;
  /** Looks whether what the state is stored in is still there; undefined if nobody else could take it away. */
  readonly check?: (() => Promise<void>) | undefined;
  /** Compacts and closes. */
  close(): Promise<void>;
}

/** A document or file that holds no state, or a damaged one. The message says what is wrong, and where. */
export class StateFormatError extends Error {
  override readonly name = "StateFormatError";
  /** False when nothing is damaged: it is of another version of svc, or somebody else's. */
  readonly repairable: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly repairable?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.repairable = options.repairable ?? true;
  }
}

/** Another state took the place of the one that was to be changed; nothing was changed. Answers 503. */
export class StateReplacedError extends Error {
  override readonly name = "StateReplacedError";
}

/** The disk rejected; nothing was written. Answers 503. */
export class StoreFailedError extends Error {
  override readonly name = "StoreFailedError";
}

/** The disk rejected one file: nothing of what was asked for was stored, and other changes continue. Answers 503. */
export class FileWriteError extends StoreFailedError {}

/**
 * Somebody else has changed what the store holds: it lost lines, or was restored from an older copy. Nothing is written on
 * it, for what follows would be lost with the lines that are missing. The message says what to do. Answers 503.
 */
export class StoreChangedError extends StoreFailedError {}

/** The state cannot be used as things are on this machine: no room, no rights. The message says what to do. */
export class StateAccessError extends Error {
  override readonly name = "StateAccessError";
  /** Whether who wants it may not, or whether the same may work in a moment; undefined: neither. */
  readonly trouble: "forbidden" | "temporary" | undefined;

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly trouble?: StateAccessError["trouble"] } = {},
  ) {
    super(message, { cause: options.cause });
    this.trouble = options.trouble;
  }
}
