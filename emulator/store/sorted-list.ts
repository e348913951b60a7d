import type { IndexValue } from "./store.ts";

/** What a sorted list orders: by its value, then by `ordinal`, which no two items of a list share. */
export interface Ordered {
  readonly ordinal: number;
}

interface Block<Item> {
  readonly values: IndexValue[];
  readonly items: Item[];
}

const blockMax = 512;

/**
 * Items ordered by (value, ordinal), in blocks of a few hundred. Insert, remove and rank cost a binary search over
 * the blocks and one inside a block; positions of blocks are counted anew only behind a change. No operation touches
 * every item.
 */
export class SortedList<Item extends Ordered> {
  #blocks: Block<Item>[] = [];
  #length = 0;
  /** The position of each block's first item, for as many blocks as nothing has changed before them. */
  readonly #starts: number[] = [0];

  get length(): number {
    return this.#length;
  }

  insert(value: IndexValue, item: Item): void {
    this.#length += 1;
    if (this.#append(value, item)) return;
    const at = this.#blockOf(value, item.ordinal);
    this.#changed(at);
    const block = this.#blocks[at];
    if (block === undefined) {
      this.#blocks.push({ values: [value], items: [item] });
      return;
    }
    const place = placeIn(block, value, item.ordinal);
    block.values.splice(place, 0, value);
    block.items.splice(place, 0, item);
    if (block.items.length > blockMax) this.#split(at);
  }

  remove(value: IndexValue, ordinal: number): void {
    const at = this.#blockOf(value, ordinal);
    const block = this.#blocks[at];
    if (block === undefined) return;
    const place = placeIn(block, value, ordinal);
    if (block.items[place]?.ordinal !== ordinal || block.values[place] !== value) return;
    this.#length -= 1;
    this.#changed(at);
    cutOut(block.values, place);
    cutOut(block.items, place);
    if (block.items.length === 0) this.#blocks.splice(at, 1);
  }

  /** How many items have a value below `value`, or, with `through`, not above it. */
  rank(value: IndexValue, through = false): number {
    const ordinal = through ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    const at = this.#blockOf(value, ordinal);
    const block = this.#blocks[at];
    if (block === undefined) return 0;
    return this.#startOf(at) + placeIn(block, value, ordinal);
  }

  /** The items at positions `start` (inclusive) to `end` (exclusive), in order. */
  slice(start: number, end: number): Item[] {
    const out: Item[] = [];
    const from = Math.max(0, start);
    let left = Math.min(end, this.#length) - from;
    if (left <= 0) return out;
    let at = this.#blockAt(from);
    for (let skip = from - this.#startOf(at); left > 0; skip = 0, at += 1) {
      const { items } = this.#blocks[at]!;
      const until = Math.min(items.length, skip + left);
      for (let i = skip; i < until; i += 1) out.push(items[i]!);
      left -= until - skip;
    }
    return out;
  }

  /** Ascending values are the usual case: no search, and a new block instead of halves that stay half full for good. */
  #append(value: IndexValue, item: Item): boolean {
    const last = this.#blocks.at(-1);
    if (last === undefined) return false;
    const { values, items } = last;
    if (!isBefore(values.at(-1)!, items.at(-1)!.ordinal, value, item.ordinal)) return false;
    if (items.length < blockMax) {
      values.push(value);
      items.push(item);
    } else {
      this.#blocks.push({ values: [value], items: [item] });
    }
    return true;
  }

  #startOf(at: number): number {
    for (let known = this.#starts.length; known <= at; known += 1) {
      this.#starts.push(this.#starts[known - 1]! + this.#blocks[known - 1]!.items.length);
    }
    return this.#starts[at]!;
  }

  /** The starts of the blocks after this one are not known any more. */
  #changed(at: number): void {
    if (this.#starts.length > at + 1) this.#starts.length = at + 1;
  }

  /** The block that holds the item at a position. */
  #blockAt(position: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#startOf(middle) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The last block that begins at or before (value, ordinal); the first block when all begin after it. */
  #blockOf(value: IndexValue, ordinal: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { values, items } = this.#blocks[middle]!;
      if (isBefore(values[0]!, items[0]!.ordinal, value, ordinal + 1)) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  #split(at: number): void {
    const block = this.#blocks[at]!;
    const half = block.items.length >>> 1;
    this.#blocks.splice(at + 1, 0, { values: block.values.splice(half), items: block.items.splice(half) });
  }
}

/** So near the front a place is emptied from the front: the first ones are the first to leave a queue. */
const frontMax = 64;

/** As `splice` does, which moves all that comes behind. */
function cutOut(list: unknown[], place: number): void {
  if (place > frontMax) {
    list.splice(place, 1);
  } else {
    for (let i = place; i > 0; i -= 1) list[i] = list[i - 1];
    list.shift();
  }
}

const isBefore = (a: IndexValue, aOrdinal: number, b: IndexValue, bOrdinal: number): boolean =>
  a < b || (a === b && aOrdinal < bOrdinal);

/** The first position in the block that is not before (value, ordinal). */
function placeIn(block: Block<Ordered>, value: IndexValue, ordinal: number): number {
  let low = 0;
  let high = block.items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(block.values[middle]!, block.items[middle]!.ordinal, value, ordinal)) low = middle + 1;
    else high = middle;
  }
  return low;
}
