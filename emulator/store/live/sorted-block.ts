import type { IndexValue } from "../port.ts";

/** What a sorted list orders: by its value, then by `ordinal`, which no two items of a list share. */
export interface OrderedItem {
  readonly ordinal: number;
}

const max = 512;
/** So near the front a place is emptied from the front. */
const nearFront = 64;
/** So many places at the front may stay empty. */
const emptyMax = 64;

/** A few hundred items of a sorted list, and the values by which they are ordered. Never empty. */
export class SortedBlock<Item extends OrderedItem> {
  readonly #values: IndexValue[];
  readonly #items: Item[];
  /** Places at the front that are empty: the first to come are the first to leave a queue, and nothing has to move. */
  #empty = 0;

  constructor(values: IndexValue[], items: Item[]) {
    this.#values = values;
    this.#items = items;
  }

  get length(): number {
    return this.#items.length - this.#empty;
  }

  get isFull(): boolean {
    return this.length >= max;
  }

  /** Whether its first item comes before (value, ordinal). */
  beginsBefore(value: IndexValue, ordinal: number): boolean {
    return this.#isBefore(this.#empty, value, ordinal);
  }

  /** Whether all its items come before (value, ordinal). */
  endsBefore(value: IndexValue, ordinal: number): boolean {
    return this.#isBefore(this.#items.length - 1, value, ordinal);
  }

  /** The first position that is not before (value, ordinal). */
  findPosition(value: IndexValue, ordinal: number): number {
    let low = this.#empty;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isBefore(middle, value, ordinal)) low = middle + 1;
      else high = middle;
    }
    return low - this.#empty;
  }

  holds(place: number, value: IndexValue, ordinal: number): boolean {
    const at = this.#empty + place;
    return this.#items[at]?.ordinal === ordinal && this.#values[at] === value;
  }

  append(value: IndexValue, item: Item): void {
    this.#values.push(value);
    this.#items.push(item);
  }

  insert(place: number, value: IndexValue, item: Item): void {
    this.#values.splice(this.#empty + place, 0, value);
    this.#items.splice(this.#empty + place, 0, item);
  }

  remove(place: number): void {
    const at = this.#empty + place;
    if (place > nearFront) {
      this.#values.splice(at, 1);
      this.#items.splice(at, 1);
      return;
    }
    // Faster here than copyWithin, which asks of each place whether there is one.
    for (let i = at; i > this.#empty; i -= 1) {
      this.#values[i] = this.#values[i - 1]!;
      this.#items[i] = this.#items[i - 1]!;
    }
    this.#empty += 1;
    if (this.#empty === emptyMax) this.#dropEmpty();
  }

  /**
   * Halves it, or, where the items of a value that goes on growing end, cuts it there, so that they stay at an end.
   * Returns what came behind.
   */
  split(place: number, value: IndexValue): SortedBlock<Item> {
    this.#dropEmpty();
    const endsHere = this.#values[place - 1] === value && this.#values[place] !== value;
    const at = endsHere ? place : this.length >>> 1;
    return new SortedBlock(this.#values.splice(at), this.#items.splice(at));
  }

  /** Adds the items from one position (inclusive) to another (exclusive) to a list. */
  copyTo(out: Item[], from: number, until: number): void {
    for (let i = this.#empty + from; i < this.#empty + until; i += 1) out.push(this.#items[i]!);
  }

  #isBefore(at: number, value: IndexValue, ordinal: number): boolean {
    const own = this.#values[at]!;
    // Numbers and texts apart, though it reads the same: a comparison that has met both is a call, not an instruction.
    if (typeof own === "number") return own === value ? this.#items[at]!.ordinal < ordinal : own < (value as number);
    return own === value ? this.#items[at]!.ordinal < ordinal : own < (value as string);
  }

  #dropEmpty(): void {
    this.#values.splice(0, this.#empty);
    this.#items.splice(0, this.#empty);
    this.#empty = 0;
  }
}
