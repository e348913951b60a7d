import { EmulatorBugError } from "../../../src/base/errors.ts";
import type { Cause, CauseRow } from "../cause.ts";
import { causeEvictionBatch, causes, maxCauses } from "../causes.ts";
import type { IndexQuery, Mapping, RowChange, RowKey, Rows, Transaction, View } from "../port.ts";
import type { Owners } from "./mapping-table.ts";
import type { StoredRow } from "./row-table.ts";
import type { Change, State } from "./state.ts";

/**
 * The value before a change: the replaced row for a put, the deleted row for a delete, the former owners for a mapping.
 */
type PreviousValue = object | undefined;

/** Reads the state in memory while its `read` or `transaction` is open. */
export class LiveView implements View {
  readonly #state: State;
  #open = true;

  constructor(state: State) {
    this.#state = state;
  }

  get<Row extends object>(from: Rows<Row>, key: RowKey): Promise<Row | undefined> {
    return Promise.resolve(this.state.getTable(from.name).get(key) as Row | undefined);
  }

  getAll<Row extends object, Thing>(
    from: Rows<Row>,
    items: readonly Thing[],
    keyOf: (thing: Thing) => RowKey | undefined,
  ): Promise<(Row | undefined)[]> {
    const table = this.state.getTable(from.name);
    const findRow = (item: Thing) => {
      const key = keyOf(item);
      return key === undefined ? undefined : (table.get(key) as Row | undefined);
    };
    return Promise.resolve(items.map(findRow));
  }

  list<Row extends object, Index extends string>(
    from: Rows<Row, Index>,
    slice: IndexQuery<Index> = {},
  ): Promise<Row[]> {
    return Promise.resolve(this.state.getTable(from.name).list(slice) as Row[]);
  }

  count<Row extends object, Index extends string>(
    from: Rows<Row, Index>,
    slice: IndexQuery<Index> = {},
  ): Promise<number> {
    return Promise.resolve(this.state.getTable(from.name).count(slice));
  }

  lookup(from: Mapping, identifier: string): Promise<string | undefined> {
    return Promise.resolve(this.state.getMapping(from.name).lookup(identifier));
  }

  size(from: Mapping): Promise<number> {
    return Promise.resolve(this.state.getMapping(from.name).size);
  }

  /** Makes every later use fail, because work that was not awaited would see or write an inconsistent state. */
  end(): void {
    this.#open = false;
  }

  protected get state(): State {
    if (!this.#open) throw new EmulatorBugError("A view of the store was used after its read or transaction had ended");
    return this.#state;
  }
}

/** Writes in place and remembers how to undo it. */
export class LiveTransaction extends LiveView implements Transaction {
  readonly operation: string;
  /** The state for a rollback, which happens after the end. */
  readonly #within: State;
  readonly #changes: Change[] = [];
  /** Data of each change for a rollback. A function per change would be held until the change is durable. */
  readonly #found: PreviousValue[] = [];
  readonly #sequencesBefore = new Map<string, number | undefined>();
  #cause: Cause | undefined;

  constructor(operation: string, state: State, cause?: Cause) {
    super(state);
    this.#within = state;
    this.operation = operation;
    this.#cause = cause;
  }

  get cause(): Cause | undefined {
    return this.#cause;
  }

  getSync<Row extends object>(from: Rows<Row>, key: RowKey): Row | undefined {
    return this.state.getTable(from.name).get(key) as Row | undefined;
  }

  async withCause<T>(cause: Cause | undefined, work: () => Promise<T> | T): Promise<T> {
    const outerCause = this.#cause;
    const before = this.#changes.length;
    this.#cause = cause;
    try {
      const result = await work();
      if (this.#changes.length > before) this.recordCause();
      return result;
    } finally {
      this.#cause = outerCause;
    }
  }

  /** Records the cause if something was changed. */
  recordCause(): void {
    if (this.#cause?.createRow && this.#changes.length > 0) this.#record(this.#cause);
  }

  put<Row extends object>(into: Rows<Row>, row: Row): void {
    const { before } = this.state.getTable(into.name).put(row);
    this.#recordChange(["put", into.name, row], before);
  }

  delete<Row extends object>(from: Rows<Row>, key: RowKey): void {
    const entry = this.state.getTable(from.name).delete(key);
    if (entry) this.#recordChange(["delete", from.name, key], entry);
  }

  map(into: Mapping, cluster: string, identifiers: readonly string[]): { readonly moved: number } {
    const before = this.state.getMapping(into.name).map(cluster, identifiers);
    const changed = before.filter((owner) => owner !== cluster);
    if (changed.length > 0) this.#recordChange(["map", into.name, cluster, identifiers], before);
    return { moved: changed.filter((owner) => owner !== undefined).length };
  }

  unmap(from: Mapping, cluster: string, identifiers: readonly string[]): { readonly removed: number } {
    const before = this.state.getMapping(from.name).unmap(cluster, identifiers);
    const removed = before.filter((owner) => owner !== undefined).length;
    if (removed > 0) this.#recordChange(["unmap", from.name, cluster, identifiers], before);
    return { removed };
  }

  next(sequence: string): number {
    const { sequences } = this.state;
    const last = sequences.get(sequence);
    if (!this.#sequencesBefore.has(sequence)) this.#sequencesBefore.set(sequence, last);
    const number = (last ?? 0) + 1;
    sequences.set(sequence, number);
    return number;
  }

  /** The changes in order, for the journal. Of a sequence, only the last value is listed. */
  get changes(): readonly Change[] {
    if (this.#sequencesBefore.size === 0) return this.#changes;
    const sequenceChanges = [...this.#sequencesBefore.keys()].map(
      (sequence): Change => ["next", sequence, this.#within.sequences.get(sequence)!],
    );
    return [...this.#changes, ...sequenceChanges];
  }

  /** Lists its changes to the rows of these collections, in order. */
  listRowChanges(collections: ReadonlySet<string>): RowChange[] {
    return this.#changes.flatMap((change, i) => {
      const [kind, collection, done] = change;
      const found = this.#found[i];
      if ((kind !== "put" && kind !== "delete") || !collections.has(collection)) return [];
      if (kind === "put") return { collection, before: found, after: done };
      return { collection, before: (found as StoredRow).row, after: undefined };
    });
  }

  rollBack(): void {
    for (let last = this.#changes.pop(); last; last = this.#changes.pop()) this.#undo(last, this.#found.pop());
    const { sequences } = this.#within;
    for (const [sequence, before] of this.#sequencesBefore) {
      if (before === undefined) sequences.delete(sequence);
      else sequences.set(sequence, before);
    }
    this.#sequencesBefore.clear();
  }

  /** Writes the row of the cause if it does not exist yet. */
  #record(cause: Cause): CauseRow | undefined {
    const table = this.state.getTable(causes.name);
    const known = table.get(cause.id) as CauseRow | undefined;
    if (known || !cause.createRow) return known;
    const row = cause.createRow(cause.before && this.#record(cause.before));
    this.put(causes, row);
    if (table.size > maxCauses) {
      for (const { id } of table.list({ limit: causeEvictionBatch }) as CauseRow[]) this.delete(causes, id);
    }
    return row;
  }

  #recordChange(change: Change, found: PreviousValue): void {
    this.#changes.push(change);
    this.#found.push(found);
  }

  #undo([kind, collection, done, identifiers]: Change, found: PreviousValue): void {
    const state = this.#within;
    if (kind === "put") {
      if (found === undefined) state.getTable(collection).remove(done);
      else state.getTable(collection).put(found);
    } else if (kind === "delete") state.getTable(collection).restore(done, found as StoredRow);
    else if (kind === "map") state.getMapping(collection).undoMap(identifiers, found as Owners);
    else if (kind === "unmap") state.getMapping(collection).undoUnmap(identifiers, found as Owners);
  }
}
