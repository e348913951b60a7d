import { EmulatorBugError } from "../../../src/base/errors.ts";
import { causeEvictionBatch, causes, maxCauses } from "../causes.ts";
import type { Cause, CauseRow, IndexQuery, Mapping, RowChange, RowKey, Rows, Transaction, View } from "../port.ts";
import type { Owners } from "./mapping-table.ts";
import type { StoredRow } from "./row-table.ts";
import type { Change, State } from "./state.ts";

/** Reads the state in memory. */
export abstract class LiveView implements View {
  protected abstract readonly state: State;

  get<Row extends object>(collection: Rows<Row>, key: RowKey | null | undefined): Row | undefined {
    return this.state.getTable(collection.name).get(key) as Row | undefined;
  }

  list<Row extends object, Index extends string>(collection: Rows<Row, Index>, slice: IndexQuery<Index> = {}): Row[] {
    return this.state.getTable(collection.name).list(slice) as Row[];
  }

  count<Row extends object, Index extends string>(collection: Rows<Row, Index>, slice: IndexQuery<Index> = {}): number {
    return this.state.getTable(collection.name).count(slice);
  }

  lookup(collection: Mapping, identifier: string): string | undefined {
    return this.state.getMapping(collection.name).lookup(identifier);
  }

  size(collection: Mapping): number {
    return this.state.getMapping(collection.name).size;
  }
}

/** Writes in place and stores the data for a rollback. */
export class LiveTransaction extends LiveView implements Transaction {
  readonly operation: string;
  readonly #state: State;
  #isOpen = true;
  readonly #changes: Change[] = [];
  /**
   * The value before each change: the replaced row of a put, the deleted row of a delete, or the former owners of a
   * mapping. A function per change would be held until the change is durable.
   */
  readonly #previousValues: (object | undefined)[] = [];
  readonly #sequencesBefore = new Map<string, number | undefined>();
  #cause: Cause | undefined;

  constructor(operation: string, state: State, cause?: Cause) {
    super();
    this.#state = state;
    this.operation = operation;
    this.#cause = cause;
  }

  /** Makes every later use fail, because nothing would be committed. */
  end(): void {
    this.#isOpen = false;
  }

  /** A rollback runs later and uses the field. */
  protected get state(): State {
    if (!this.#isOpen) throw new EmulatorBugError(`Transaction ${this.operation} was used after its end`);
    return this.#state;
  }

  get cause(): Cause | undefined {
    return this.#cause;
  }

  withCause<T>(cause: Cause | undefined, work: () => T): T {
    const outerCause = this.#cause;
    const countBefore = this.#changes.length;
    this.#cause = cause;
    try {
      const result = work();
      if (this.#changes.length > countBefore) this.recordCause();
      return result;
    } finally {
      this.#cause = outerCause;
    }
  }

  /** Records the cause if something was changed. */
  recordCause(): void {
    if (this.#cause?.createRow && this.#changes.length > 0) this.#record(this.#cause);
  }

  put<Row extends object>(collection: Rows<Row>, row: Row): void {
    const { before } = this.state.getTable(collection.name).put(row);
    this.#recordChange(["put", collection.name, row], before);
  }

  delete<Row extends object>(collection: Rows<Row>, key: RowKey): void {
    const entry = this.state.getTable(collection.name).delete(key);
    if (entry) this.#recordChange(["delete", collection.name, key], entry);
  }

  map(collection: Mapping, cluster: string, identifiers: readonly string[]): { readonly moved: number } {
    const previousOwners = this.state.getMapping(collection.name).map(cluster, identifiers);
    const changedOwners = previousOwners.filter((owner) => owner !== cluster);
    if (changedOwners.length > 0) this.#recordChange(["map", collection.name, cluster, identifiers], previousOwners);
    return { moved: changedOwners.filter((owner) => owner !== undefined).length };
  }

  unmap(collection: Mapping, cluster: string, identifiers: readonly string[]): { readonly removed: number } {
    const previousOwners = this.state.getMapping(collection.name).unmap(cluster, identifiers);
    const removedCount = previousOwners.filter((owner) => owner === cluster).length;
    if (removedCount > 0) this.#recordChange(["unmap", collection.name, cluster, identifiers], previousOwners);
    return { removed: removedCount };
  }

  next(sequence: string): number {
    const { sequences } = this.state;
    const last = sequences.get(sequence);
    if (!this.#sequencesBefore.has(sequence)) this.#sequencesBefore.set(sequence, last);
    const number = (last ?? 0) + 1;
    sequences.set(sequence, number);
    return number;
  }

  /** The changes in order, for the journal. Only the last value of each sequence is listed. */
  get changes(): readonly Change[] {
    if (this.#sequencesBefore.size === 0) return this.#changes;
    const sequenceChanges = [...this.#sequencesBefore.keys()].map(
      (sequence): Change => ["next", sequence, this.#state.sequences.get(sequence)!],
    );
    return [...this.#changes, ...sequenceChanges];
  }

  /** Lists its changes to the rows of these collections, in order. */
  listRowChanges(collections: ReadonlySet<string>): RowChange[] {
    const rowChanges: RowChange[] = [];
    // Every watcher reads every change, and `entries` would create two objects for each.
    for (let i = 0; i < this.#changes.length; i += 1) {
      const [kind, collection, value] = this.#changes[i]!;
      if (!collections.has(collection)) continue;
      const previous = this.#previousValues[i];
      if (kind === "put") rowChanges.push({ collection, before: previous, after: value });
      else if (kind === "delete")
        rowChanges.push({ collection, before: (previous as StoredRow).row, after: undefined });
    }
    return rowChanges;
  }

  rollBack(): void {
    for (let change = this.#changes.pop(); change; change = this.#changes.pop())
      this.#undo(change, this.#previousValues.pop());
    const { sequences } = this.#state;
    for (const [sequence, before] of this.#sequencesBefore) {
      if (before === undefined) sequences.delete(sequence);
      else sequences.set(sequence, before);
    }
    this.#sequencesBefore.clear();
  }

  /** Writes the row of the cause if it does not exist yet. */
  #record(cause: Cause): CauseRow | undefined {
    const table = this.state.getTable(causes.name);
    const existingRow = table.get(cause.id) as CauseRow | undefined;
    if (existingRow || !cause.createRow) return existingRow;
    const row = cause.createRow(cause.before && this.#record(cause.before));
    this.put(causes, row);
    if (table.size > maxCauses) {
      for (const { id } of table.list({ limit: causeEvictionBatch }) as CauseRow[]) this.delete(causes, id);
    }
    return row;
  }

  #recordChange(change: Change, previous: object | undefined): void {
    this.#changes.push(change);
    this.#previousValues.push(previous);
  }

  #undo([kind, collection, value, identifiers]: Change, previous: object | undefined): void {
    const state = this.#state;
    if (kind === "put") {
      if (previous === undefined) state.getTable(collection).remove(value);
      else state.getTable(collection).put(previous);
    } else if (kind === "delete") state.getTable(collection).restore(value, previous as StoredRow);
    else if (kind !== "next") state.getMapping(collection).undo(identifiers, previous as Owners);
  }
}
