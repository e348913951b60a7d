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
 * the blocks, one inside a block, and a sum over the blocks' lengths; no operation touches every item.
 */
export class SortedList<Item extends Ordered> {
  #blocks: Block<Item>[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  insert(value: IndexValue, item: Item): void {
    this.#length += 1;
    const at = this.#blockOf(value, item.ordinal);
    const block = this.#blocks[at];
    if (block === undefined) {
      this.#blocks.push({ values: [value], items: [item] });
      return;
    }
    const place = placeIn(block, value, item.ordinal);
    if (block.items.length >= blockMax && at === this.#blocks.length - 1 && place === block.items.length) {
      // Ascending values are the usual case: a new block, instead of halves that stay half full for good.
      this.#blocks.push({ values: [value], items: [item] });
      return;
    }
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
    block.values.splice(place, 1);
    block.items.splice(place, 1);
    if (block.items.length === 0) this.#blocks.splice(at, 1);
  }

  /** How many items have a value below `value`, or, with `through`, not above it. */
  rank(value: IndexValue, through = false): number {
    const ordinal = through ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    const at = this.#blockOf(value, ordinal);
    const block = this.#blocks[at];
    if (block === undefined) return 0;
    let before = placeIn(block, value, ordinal);
    for (let i = 0; i < at; i += 1) before += this.#blocks[i]!.items.length;
    return before;
  }

  /** The items at positions `start` (inclusive) to `end` (exclusive), in order. */
  slice(start: number, end: number): Item[] {
    const out: Item[] = [];
    let at = 0;
    let skip = Math.max(0, start);
    let left = Math.min(end, this.#length) - skip;
    while (left > 0 && skip >= this.#blocks[at]!.items.length) {
      skip -= this.#blocks[at]!.items.length;
      at += 1;
    }
    for (; left > 0; at += 1) {
      const items = this.#blocks[at]!.items;
      const until = Math.min(items.length, skip + left);
      for (let i = skip; i < until; i += 1) out.push(items[i]!);
      left -= until - skip;
      skip = 0;
    }
    return out;
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
