import type * as z from "zod";
import type { LogPosition } from "../../src/files/log-line.ts";
import type { Cause } from "./cause.ts";

/** A value that an index may order by; the values of one index are of one type. */
export type IndexValue = string | number;

/** The key of a row in its collection: the number of numbered rows, else a string. */
export type RowKey = string | number;
type KeyOf<Row> = Row extends { readonly id: number } ? number : string;

/** The key of a numbered row that a string names; NaN, which no row has, if it is not written as numbers are. */
export const rowNumber = (text: string): number => (String(Number(text)) === text ? Number(text) : Number.NaN);

/** Makes a row of one version of its collection a row of the next. Pure: it may run again after a crash. */
export type Migration = (row: Readonly<Record<string, unknown>>) => object;

interface Versioned {
  /**
   * Version of the shape of the rows, from 1, which is the default. Raised with every change of the schema or of the
   * meaning of a field that makes existing rows invalid.
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
  /** The sequences of its numbers: after a document that may have been edited they continue behind them. */
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
  /** As `get`, but synchronous, as writes are: for work on thousands of rows, where a promise for each is slow. */
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
  /** Its cause; undefined for changes without a request: at the beginning, and for clean-up. */
  readonly cause: Cause | undefined;
  /**
   * Does a part of it that has a cause of its own, one part after the other. As for the whole, the cause's row is written
   * with what follows, once, and not at all where nothing is changed.
   */
  because<T>(cause: Cause | undefined, work: () => Promise<T> | T): Promise<T>;
}

/** A transaction's change of one row: undefined before it was created, or once it is deleted. */
export interface RowChange {
  readonly collection: string;
  readonly before: object | undefined;
  readonly after: object | undefined;
}

/** Members at the top of a document, for readers other than the store. */
export type DocumentHead = Readonly<Record<string, unknown>>;

/** A state next to the one that is served. */
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
  /** It is no longer read. */
  end(): void;
}

/** Steps on the way, while there are neither reads nor writes. */
export interface TakeoverHooks {
  /** Stores the state that is left: the present state, as `export` returns it. If it rejects, nothing changes. */
  readonly keep?: ((present: AsyncIterable<string>) => Promise<void>) | undefined;
  /** At the top of that document, as for `export`. */
  readonly head?: (() => DocumentHead) | undefined;
  /** Line of this store's history after which the new state was; omitted: it is not part of it. */
  readonly past?: LogPosition | undefined;
  /** Time of that state, shown at the end of its history; omitted: now. */
  readonly moment?: Moment | undefined;
  /** Called at the moment of the replacement: work that was begun before cannot write after it. */
  readonly tookOver?: (() => void) | undefined;
}

/** History of the present state, as far back as it is stored. */
export interface History {
  /** Present position of the log. */
  place(): LogPosition;
  /**
   * Visits the commits that led to the present state, the newest first, until `visit` returns false or no more are
   * stored. Those of replaced states do not count. At its end, resolves with the position to which the history reaches
   * back.
   */
  visit(visit: (commit: Commit) => boolean): Promise<HistoryStart | undefined>;
  /**
   * The state after the line of that number, which `visit` has named, or the one before such a line. Stands next to the
   * present one. Fails with StateFormatError if its files are damaged or gone.
   */
  stateAfter(number: number): Promise<{ readonly store: Store; readonly past: LogPosition }>;
}

/**
 * The state behind the emulator. Asynchronous, so that a database can be behind it. The guarantees of a store are
 * listed here, and one suite checks each (`test/emulator/store/port`): transactions are one after the other, in the
 * order in which they were begun; a reader sees all of a transaction or nothing of it; a view and a transaction cannot
 * be used after their end; rows are frozen; identifiers, keys and strings of any characters come back unchanged.
 */
export interface Store {
  /**
   * Reads a consistent picture; waits while a transaction is open, and shows what it committed. The data may still be
   * on its way to the disk: callers that publish it or act on it call `durable()` at the end of the read.
   */
  read<T>(work: (view: View) => Promise<T> | T): Promise<T>;
  /**
   * All or nothing. Resolves once it is durable. `name` is the operation, for messages. A transaction inside another,
   * or one open for more than 2 s of wall-clock time, is rolled back and fails as a bug of the emulator. One that
   * waited while another state replaced this one, or whose cause belongs to a replaced state, fails with
   * StateReplacedError. Its writes name their `cause`, and the cause's own row is part of it; null: without a cause,
   * whoever calls.
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
   * The whole state as the text of one JSON document, in pieces; `replace` reads it. It is the state of the moment at
   * which its first piece is read: other transactions continue meanwhile, do not wait for the reader, and do not show.
   * `head` is called in that moment; its members are at the top of the document, and the store does not interpret them.
   */
  export(head?: () => DocumentHead): AsyncIterable<string>;
  /** Contents of the present state, to be read once; it must be ended. */
  contents(): Promise<ConsistentContents>;
  /** An empty store that is stored nowhere, for a state that is to replace this one. */
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
   * Fails with StoreFailedError if the disk rejects writes, after the lost changes were rolled back, and if the store
   * is closed.
   */
  durable(): Promise<void>;
  /** History of the present state; undefined if none is stored. */
  readonly history?: History | undefined;
  /** False from a failed write to disk until one succeeds again: reads continue, transactions fail. */
  readonly writable: boolean;
  /** Checks whether the files of the state still exist; undefined if no other program could remove them. */
  readonly check?: (() => Promise<void>) | undefined;
  /** Compacts and closes. */
  close(): Promise<void>;
}

/** A document or file that holds no state, or a damaged one. The message names the problem and its position. */
export class StateFormatError extends Error {
  override readonly name = "StateFormatError";
  /** False if nothing is damaged: it is of another version of svc, or a user's. */
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

/** The disk rejected one file: nothing of the request was stored, and other changes continue. Answers 503. */
export class FileWriteError extends StoreFailedError {}

/**
 * Another program has changed the contents of the store: it lost lines, or was restored from an older copy. Nothing is
 * written to it, for later lines would be lost with the missing ones. The message says what to do. Answers 503.
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

/** Metadata that is stored with the changes of a commit, for a later rewind. */
export interface Moment {
  /** Virtual milliseconds; absent before there is a clock. */
  readonly at?: number | undefined;
  /** Position of the sequence of ids, if ids are not random; the store does not interpret it. */
  readonly ids?: unknown;
}

/** Something that was committed, and led to the present state. */
export interface Commit extends Moment {
  readonly number: number;
  /** The id of its cause; absent where the emulator tidied up. */
  readonly cause?: string | undefined;
}

/** Beginning of the history of the present state. */
export interface HistoryStart extends Moment {
  /** The oldest state that a rewind can restore: that after the line of this number. */
  readonly number: number;
}
