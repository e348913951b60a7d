import * as z from "zod";
import type { LogPosition } from "../../src/files/log-line.ts";

/** A value that orders an index. All values of one index have the same type. */
export type IndexValue = string | number;

/** The key of a row in its collection: the number of a numbered row, otherwise a string. */
export type RowKey = string | number;
type KeyOf<Row> = Row extends { readonly id: number } ? number : string;

/** Parses the key of a numbered row. Returns NaN, which no row has, if the string is not a canonical number. */
export const parseRowNumber = (text: string): number => (String(Number(text)) === text ? Number(text) : Number.NaN);

/** Upgrades a row by one version of its collection. It must be pure, because it may run again after a crash. */
export type Migration = (row: Readonly<Record<string, unknown>>) => object;

type References = Readonly<Record<string, { readonly collection: string; readonly key: RowKey }>>;

/**
 * A collection of objects, declared once. `key` is unique. Every index is ordered by its value, then by the order of
 * insertion. A row for which an index returns undefined is not in that index. A row for which it returns an array is
 * listed under each of its values.
 */
export interface Rows<Row extends object, Index extends string = string, Key extends RowKey = RowKey> {
  readonly kind: "rows";
  readonly name: string;
  readonly schema: z.ZodType<Row>;
  /**
   * `migrate[0]` upgrades a row from version 1 to version 2, and so on. Add a migration with every change of the
   * schema, or of the meaning of a field, that makes existing rows invalid. The key must not change.
   */
  readonly migrate?: readonly Migration[];
  readonly key: (row: Row) => Key;
  /**
   * The sequences of its numbers. After a document that may have been edited, they continue after the highest number.
   */
  readonly numbers?: Readonly<Record<string, (row: Row) => number | readonly number[]>>;
  /** Required rows of other collections, by field. A document that lacks such a row is rejected. */
  readonly refersTo?: (row: Row) => References;
  readonly indexes: Readonly<Record<Index, (row: Row) => IndexValue | readonly IndexValue[] | undefined>>;
}

/** A table that maps an identifier to the ID of the cluster that owns it, without an object per row. */
export interface Mapping {
  readonly kind: "mapping";
  readonly name: string;
}

export type AnyRows = Omit<Rows<never>, "schema"> & { readonly schema: z.ZodType<object> };

export type Collection = AnyRows | Mapping;

export const defineRows = <Row extends object, Index extends string = never, Key extends RowKey = KeyOf<Row>>(
  declaration: Omit<Rows<Row, Index, Key>, "kind" | "indexes"> & Partial<Pick<Rows<Row, Index, Key>, "indexes">>,
): Rows<Row, Index, Key> => ({ kind: "rows", ...declaration, indexes: declaration.indexes ?? ({} as never) });

/** Defines a collection whose rows have the next number of a sequence as their ID. */
export const defineNumberedRows = <Row extends { readonly id: number }, Index extends string = never>(
  name: string,
  sequence: string,
  schema: z.ZodType<Row>,
  indexes?: Rows<Row, Index>["indexes"],
  versions?: Pick<Rows<Row>, "migrate">,
): Rows<Row, Index, number> =>
  defineRows({ name, schema, key: (row) => row.id, numbers: { [sequence]: (row) => row.id }, indexes, ...versions });

export const defineMapping = (name: string): Mapping => ({ kind: "mapping", name });

/** A slice of an index: `equals`, or from `from` (inclusive) to `to` (inclusive). */
export interface IndexQuery<Index extends string> {
  /** Omitted for the order of insertion. */
  readonly by?: Index;
  readonly equals?: IndexValue;
  readonly from?: IndexValue;
  readonly to?: IndexValue;
  readonly reverse?: boolean;
  readonly offset?: number;
  readonly limit?: number;
}

/**
 * Reads the present state. Nothing else runs between synchronous reads, so they see all of a transaction or nothing.
 * The data may not be durable yet: callers that publish it or act on it call `waitUntilDurable()` afterwards.
 */
export interface View {
  /** Returns undefined also for a missing key, such as that of an optional field. */
  get<Row extends object, Key extends RowKey>(
    collection: Rows<Row, string, Key>,
    key: NoInfer<Key> | null | undefined,
  ): Row | undefined;
  list<Row extends object, Index extends string>(
    collection: Rows<Row, Index>,
    slice?: IndexQuery<Index>,
  ): readonly Row[];
  /** The number of rows, or of rows in the slice, regardless of its offset and limit. */
  count<Row extends object, Index extends string>(collection: Rows<Row, Index>, slice?: IndexQuery<Index>): number;
  lookup(collection: Mapping, identifier: string): string | undefined;
  size(collection: Mapping): number;
}

export interface Transaction extends View {
  /** Adds a row or replaces the row with the same key. The row is frozen. */
  put<Row extends object>(collection: Rows<Row>, row: NoInfer<Row>): void;
  /** Does nothing if there is no such row. */
  delete<Row extends object, Key extends RowKey>(collection: Rows<Row, string, Key>, key: NoInfer<Key>): void;
  /** Maps identifiers to a cluster. The last writer wins. Returns how many belonged to another cluster before. */
  map(collection: Mapping, cluster: string, identifiers: readonly string[]): { readonly moved: number };
  /** Removes the identifiers that belong to the cluster. Returns their number. */
  unmap(collection: Mapping, cluster: string, identifiers: readonly string[]): { readonly removed: number };
  /** Returns the next number of a sequence, from 1. */
  next(sequence: string): number;
  /** The cause. Undefined for changes without a request: at the start, and for cleanup. */
  readonly cause: Cause | undefined;
  /**
   * Runs a section of the transaction that has its own cause. Sections run one after the other. The row of the cause is
   * written with its first change, once, and never if nothing is changed.
   */
  withCause<T>(cause: Cause | undefined, work: () => T): T;
}

/** A transaction's change of one row. A value is undefined before the row is created or after it is deleted. */
export interface RowChange {
  readonly collection: string;
  readonly before: object | undefined;
  readonly after: object | undefined;
}

/** Durable changes in order, or: `replaced` by another state, `writable` again after a failure. */
export type StoreChange = readonly RowChange[] | "replaced" | "writable";

/** Members at the top of a document, for readers other than the store. */
export type DocumentHead = Readonly<Record<string, unknown>>;

/** A state that was loaded but is not being served. */
export interface LoadedState {
  readonly head: DocumentHead;
  readonly store: Store;
}

/** The contents of a state at one moment. */
export interface ConsistentContents {
  readonly collections: readonly Collection[];
  readonly sequences: ReadonlyMap<string, number>;
  /** By collection, in the order of insertion. */
  readonly rows: ReadonlyMap<string, readonly object[]>;
  readonly mappings: ReadonlyMap<string, Iterable<readonly [identifier: string, cluster: string]>>;
  /** Releases the contents. */
  end(): void;
}

/** Steps of a replacement, while there are no writes. */
export interface ReplacementHooks {
  /** Saves the document of the replaced state, as `export` returns it. If it rejects, nothing changes. */
  readonly saveReplaced?: ((document: AsyncIterable<string>) => Promise<void>) | undefined;
  /** Members at the top of that document, as for `export`. */
  readonly head?: (() => DocumentHead) | undefined;
  /** The line of this store's history after which the new state existed. Omitted if it is not part of the history. */
  readonly past?: LogPosition | undefined;
  /** Time of the new state, shown at the end of its history (default: the present time). */
  readonly moment?: Moment | undefined;
  /** Called at the moment of the replacement. Work that was started before cannot write after it. */
  readonly onReplaced?: (() => void) | undefined;
}

/** History of the present state, as far back as it is stored. */
export interface History {
  getPosition(): LogPosition;
  /**
   * Visits the commits that led to the present state, newest first, until `visit` returns false or no more commits are
   * stored. Commits of replaced states are skipped. Resolves with the position to which the history reaches back.
   */
  visit(visit: (commit: Commit) => boolean): Promise<HistoryStart | undefined>;
  /**
   * Restores the state after the line with that number, which `visit` has named, or after the line before it, in a
   * separate store. Fails with StateFormatError if its files are damaged or missing.
   */
  restoreAfter(number: number): Promise<{ readonly store: Store; readonly past: LogPosition }>;
}

/**
 * The state of the emulator, which is in memory and made durable by a log. One test suite checks each guarantee of a
 * store (`test/emulator/store/port`): reads and the work of transactions are synchronous; a transaction cannot be used
 * after its end; rows are frozen; identifiers, keys and strings are stored unchanged.
 */
export interface Store extends View {
  /**
   * Runs a transaction, all or nothing. Resolves when it is durable. `name` is the operation, for messages. A
   * transaction inside another, and asynchronous work, fail as a bug of the emulator. If another state
   * replaced this one while it waited, or if its cause belongs to a replaced state, it fails with StateReplacedError.
   * Its writes name their `cause`, whose row is part of the transaction. Null means no cause.
   */
  transaction<T>(name: string, work: (tx: Transaction) => T, cause?: Cause | null): Promise<T>;
  /**
   * Calls the listener after each durable commit that changed rows of the collections, and after a change of the whole
   * store. `listener` must not throw. Returns a function that removes the listener.
   */
  watch(collections: readonly AnyRows[], listener: (change: StoreChange) => void): () => void;
  /**
   * Exports the complete state as one JSON document, in pieces. `parseDocument` reads it. It is the state at the moment
   * when the first piece is read: other transactions continue meanwhile and are not included. `head` is called at that
   * moment. Its members are at the top of the document, and the store does not interpret them.
   */
  export(head?: () => DocumentHead): AsyncIterable<string>;
  /** Contents of the present state. They can be read once and must be ended. */
  readContents(): ConsistentContents;
  /** Creates an empty store that is not durable, for a state that is to replace this one. */
  createEmptyStore(): Store;
  /** Loads a checksummed document into a separate store. Fails with StateFormatError if it is not a valid state. */
  load(document: AsyncIterable<Buffer>): Promise<LoadedState>;
  /** Creates a separate store from an exported document. Throws StateFormatError if the document is not a state. */
  parseDocument(document: unknown): Store;
  /**
   * Durably replaces the state with that of a store, all or nothing. That store must not be used afterwards. Meanwhile
   * transactions wait, and reads see the state that is being replaced.
   */
  replaceWith(nextStore: Store, hooks?: ReplacementHooks): Promise<void>;
  /**
   * Settles when another state has replaced this one or not. Undefined if it is not being replaced. Meanwhile nothing
   * that cannot be undone may be started.
   */
  readonly replacement: Promise<void> | undefined;
  /**
   * Resolves when all earlier commits are durable. Fails with StoreFailedError if the disk rejects writes, after the
   * lost changes were rolled back, and if the store is closed.
   */
  waitUntilDurable(): Promise<void>;
  /** The history of the present state. Undefined if no history is stored. */
  readonly history?: History | undefined;
  /** False from a failed write to disk until a write succeeds again. Meanwhile reads succeed and transactions fail. */
  readonly writable: boolean;
  /** Checks whether the files of the state still exist. Undefined if no other program can remove them. */
  readonly check?: (() => Promise<void>) | undefined;
  /** Compacts and closes the store. */
  close(): Promise<void>;
}

/** A document or file contains no state or a damaged state. The message names the problem and its position. */
export class StateFormatError extends Error {
  override readonly name = "StateFormatError";
  /** False if nothing is damaged, but the file has another version or belongs to the user. */
  readonly repairable: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly repairable?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.repairable = options.repairable ?? true;
  }
}

/** Another state replaced the state of the change, and nothing was changed. The response is 503. */
export class StateReplacedError extends Error {
  override readonly name = "StateReplacedError";
}

/** The disk rejected a write, and nothing was written. The response is 503. */
export class StoreFailedError extends Error {
  override readonly name = "StoreFailedError";
}

/** The database may have stored the change, because its response was lost. The response is 503 without `unchanged`. */
export class UnconfirmedWriteError extends StoreFailedError {}

/** The disk rejected one file: nothing of the request was stored, and other changes continue. The response is 503. */
export class FileWriteError extends StoreFailedError {}

/**
 * Another program changed the contents of the store: it lost lines, or was restored from an older copy. Nothing is
 * written to it, because later lines would be lost with the missing ones. The message names the remedy. The response is
 * 503.
 */
export class StoreChangedError extends StoreFailedError {}

/** This machine cannot use the state, for lack of space or permissions. The message names the remedy. */
export class StateAccessError extends Error {
  override readonly name = "StateAccessError";
  /** `forbidden` if permissions are missing, `temporary` if a retry may succeed. Undefined if neither applies. */
  readonly kind: "forbidden" | "temporary" | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly kind?: StateAccessError["kind"] } = {}) {
    super(message, { cause: options.cause });
    this.kind = options.kind;
  }
}

/** Metadata that is stored with the changes of a commit, for a later rewind. */
export interface Moment {
  /** Virtual milliseconds. Absent before a clock exists. */
  readonly at?: number | undefined;
  /** Position of the sequence of IDs, if IDs are not random. The store does not interpret it. */
  readonly ids?: unknown;
}

/** A commit that led to the present state. */
export interface Commit extends Moment {
  readonly number: number;
  /** The ID of its cause. Absent for cleanup by the emulator. */
  readonly cause?: string | undefined;
}

/** Beginning of the history of the present state. */
export interface HistoryStart extends Moment {
  /** The oldest state that a rewind can restore: the state after the line with this number. */
  readonly number: number;
}

/** The last timestamp. Time stops there, because years with five digits cannot be written. */
export const lastTimestampMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const firstTimestampMs = Date.parse("0000-01-01T00:00:00Z");
const yearMs = 366 * 86_400_000;

const limitTime = <S extends z.ZodType<number>>(number: S, maxMs: number): S =>
  number.refine((ms) => ms >= firstTimestampMs && ms <= maxMs, "Time is outside the years 0 to 9999");

/** The time of an event in a row: milliseconds since the epoch, within the range of timestamps. */
export const storedTime = <S extends z.ZodType<number>>(number: S): S => limitTime(number, lastTimestampMs);

/** The time of a scheduled entry or a deadline, which can be up to a year after the last timestamp. */
export const storedDeadline = <S extends z.ZodType<number>>(number: S): S =>
  limitTime(number, lastTimestampMs + yearMs);

/** The cause of a write: the row of a request, a clock advance, or a scheduled entry that came due. */
export const CauseRow = z.strictObject({
  /** Its kind and its number: `request:12`, `advance:13`, `timer:7`. */
  id: z.string(),
  /** A short description without secrets: `contracts.send POST /api/v2.1/public/contracts/T-1/send/`. */
  what: z.string(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  /** Wall-clock milliseconds. Under --deterministic they are virtual, so that the same calls store the same bytes. */
  wall_at: storedTime(z.int()),
  trace: z.string(),
  /** The caller's span, if the trace comes from outside. */
  parent_span: z.string().nullable(),
  before: z.string().nullable(),
  /** The clock advance that made it due. Null if the clock was not advanced. */
  moved_by: z.string().nullable(),
});
export type CauseRow = Readonly<z.infer<typeof CauseRow>>;

/** The reason for a transaction. */
export interface Cause {
  readonly id: string;
  readonly before?: Cause | undefined;
  /** Returns true if it belongs to a replaced state. Its changes to another state are rejected. */
  isStateReplaced?(): boolean;
  /** Creates its row with its first effect, from the stored row of the previous cause. Omitted if the row exists. */
  createRow?(before: CauseRow | undefined): CauseRow;
}
