import { EmulatorBugError } from "../../../src/base/bug.ts";
import type { AnyRows, Mapping, RowKey, Rows, Slice, View } from "../port.ts";
import type { State } from "./state.ts";

/** Reads the state in memory for as long as its `read` or `transaction` is open. */
export class LiveView implements View {
  readonly #state: State;
  #open = true;

  constructor(state: State) {
    this.#state = state;
  }

  get<Row extends object>(from: Rows<Row>, key: RowKey): Promise<Row | undefined> {
    return Promise.resolve(this.state.tableOf(from as AnyRows).get(key) as Row | undefined);
  }

  getAll<Row extends object, Thing>(
    from: Rows<Row>,
    things: readonly Thing[],
    keyOf: (thing: Thing) => RowKey | undefined,
  ): Promise<(Row | undefined)[]> {
    const table = this.state.tableOf(from as AnyRows);
    const rowOf = (thing: Thing) => {
      const key = keyOf(thing);
      return key === undefined ? undefined : (table.get(key) as Row | undefined);
    };
    return Promise.resolve(things.map(rowOf));
  }

  list<Row extends object, Index extends string>(from: Rows<Row, Index>, slice: Slice<Index> = {}): Promise<Row[]> {
    return Promise.resolve(this.state.tableOf(from as AnyRows).list(slice) as Row[]);
  }

  count<Row extends object, Index extends string>(from: Rows<Row, Index>, slice: Slice<Index> = {}): Promise<number> {
    return Promise.resolve(this.state.tableOf(from as AnyRows).count(slice));
  }

  lookup(from: Mapping, identifier: string): Promise<string | undefined> {
    return Promise.resolve(this.state.mappingOf(from).lookup(identifier));
  }

  size(from: Mapping): Promise<number> {
    return Promise.resolve(this.state.mappingOf(from).size);
  }

  /** True until `end`. */
  get open(): boolean {
    return this.#open;
  }

  /** From here on every use fails: what was forgotten to be awaited would see or write half a picture. */
  end(): void {
    this.#open = false;
  }

  protected get state(): State {
    if (!this.#open) throw new EmulatorBugError("A view of the store was used after its read or transaction had ended");
    return this.#state;
  }
}
