import type { Cause, CauseRow } from "../cause.ts";
import { causes, droppedCauses, mostCauses } from "../causes.ts";
import type { AnyRows, Collection, Mapping, RowChange, Rows, Transaction } from "../port.ts";
import { LiveView } from "./live-view.ts";
import type { Change, State } from "./state.ts";

/** Writes in place, and remembers how to take it back. */
export class LiveTransaction extends LiveView implements Transaction {
  readonly operation: string;
  readonly #changes: Change[] = [];
  /** The row that each change found, where it found one. */
  readonly #found: (object | undefined)[] = [];
  /** The last number that each sequence had given out before. */
  readonly #sequencesBefore = new Map<string, number | undefined>();
  readonly #sequences: Map<string, number>;
  readonly #undo: (() => void)[] = [];
  #cause: Cause | undefined;

  constructor(operation: string, state: State, cause?: Cause) {
    super(state);
    this.#sequences = state.sequences;
    this.operation = operation;
    this.#cause = cause;
  }

  get cause(): Cause | undefined {
    return this.#cause;
  }

  async because<T>(cause: Cause | undefined, work: () => Promise<T> | T): Promise<T> {
    const whole = this.#cause;
    const before = this.#changes.length;
    this.#cause = cause;
    try {
      const result = await work();
      if (this.#changes.length > before) this.recordCause();
      return result;
    } finally {
      this.#cause = whole;
    }
  }

  /** Writes down why it is made, where something was changed. */
  recordCause(): void {
    if (this.#cause?.row && this.#changes.length > 0) this.#record(this.#cause);
  }

  put<Row extends object>(into: Rows<Row>, row: Row): void {
    const table = this.state.tableOf(into as AnyRows);
    const { key, before } = table.put(row);
    const undo = () => {
      if (before === undefined) table.delete(key);
      else table.put(before);
    };
    this.#did(["put", into.name, row], undo, before);
  }

  delete<Row extends object>(from: Rows<Row>, key: string): void {
    const table = this.state.tableOf(from as AnyRows);
    const entry = table.delete(key);
    if (entry) this.#did(["delete", from.name, key], () => table.restore(key, entry), entry.row);
  }

  map(into: Mapping, cluster: string, identifiers: readonly string[]): { readonly moved: number } {
    const table = this.state.mappingOf(into);
    const before = table.map(cluster, identifiers);
    let added = 0;
    let moved = 0;
    for (const owner of before) {
      if (owner === undefined) added += 1;
      else if (owner !== cluster) moved += 1;
    }
    if (added + moved > 0) {
      this.#did(["map", into.name, cluster, identifiers], () => table.undoMap(identifiers, before));
    }
    return { moved };
  }

  unmap(from: Mapping, cluster: string, identifiers: readonly string[]): { readonly removed: number } {
    const table = this.state.mappingOf(from);
    const before = table.unmap(cluster, identifiers);
    let removed = 0;
    for (const owner of before) if (owner !== undefined) removed += 1;
    if (removed > 0) {
      this.#did(["unmap", from.name, cluster, identifiers], () => table.undoUnmap(identifiers, before));
    }
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

  /** What was done, in order, for the journal; of a sequence only how far it came. */
  get changes(): readonly Change[] {
    if (this.#sequencesBefore.size === 0) return this.#changes;
    const reached = [...this.#sequencesBefore.keys()].map(
      (sequence): Change => ["next", sequence, this.#sequences.get(sequence)!],
    );
    return [...this.#changes, ...reached];
  }

  touches(collection: Collection["name"]): boolean {
    return this.#changes.some(([, changed]) => changed === collection);
  }

  /** What it did to the rows of these collections, in order. */
  rowsIn(collections: ReadonlySet<string>): RowChange[] {
    return this.#changes.flatMap((change, i) => {
      const [kind, collection] = change;
      if ((kind !== "put" && kind !== "delete") || !collections.has(collection)) return [];
      return { collection, before: this.#found[i], after: kind === "put" ? change[2] : undefined };
    });
  }

  /** Takes everything back, newest first. */
  rollBack(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo.length = 0;
    for (const [sequence, before] of this.#sequencesBefore) {
      if (before === undefined) this.#sequences.delete(sequence);
      else this.#sequences.set(sequence, before);
    }
    this.#sequencesBefore.clear();
  }

  /** The cause's row, written now if it is not there. */
  #record(cause: Cause): CauseRow | undefined {
    const table = this.state.tableOf(causes as AnyRows);
    const known = table.get(cause.id) as CauseRow | undefined;
    if (known || !cause.row) return known;
    const row = cause.row(cause.before && this.#record(cause.before));
    this.put(causes, row);
    if (table.size > mostCauses) {
      for (const { id } of table.list({ limit: droppedCauses }) as CauseRow[]) this.delete(causes, id);
    }
    return row;
  }

  #did(change: Change, undo: () => void, found?: object): void {
    this.#changes.push(change);
    this.#found.push(found);
    this.#undo.push(undo);
  }
}
