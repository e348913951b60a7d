import type { IndexValue } from "../port.ts";

/** The order of a sorted list: by its value, then by `ordinal`, which no two items of a list share. */
interface OrderedItem {
  readonly ordinal: number;
}

const maxBlockItems = 512;

/** A few hundred items of a sorted list, with the values that order them. Never empty. */
interface Block<Item extends OrderedItem> {
  readonly values: IndexValue[];
  readonly items: Item[];
}

function isBefore({ values, items }: Block<OrderedItem>, at: number, value: IndexValue, ordinal: number): boolean {
  const ownValue = values[at]!;
  // Numbers and strings have separate branches with the same code, because a comparison of both types is slower.
  if (typeof ownValue === "number")
    return ownValue === value ? items[at]!.ordinal < ordinal : ownValue < (value as number);
  return ownValue === value ? items[at]!.ordinal < ordinal : ownValue < (value as string);
}

/** Finds the position of (value, ordinal) in a block. Every write searches, and a callback would be a new function. */
function findPosition(block: Block<OrderedItem>, value: IndexValue, ordinal: number): number {
  let low = 0;
  let high = block.items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(block, middle, value, ordinal)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Removes the item at a position. Queues remove their first items, for which Node need not move the others. */
function removeAt({ values, items }: Block<OrderedItem>, position: number): void {
  if (position === 0) {
    values.shift();
    items.shift();
  } else {
    values.splice(position, 1);
    items.splice(position, 1);
  }
}

/**
 * Splits a block in half. If a growing value ends at the position, splits the block there, so that the items of this
 * value stay at an end. Returns the second half.
 */
function splitBlock<Item extends OrderedItem>(
  { values, items }: Block<Item>,
  position: number,
  value: IndexValue,
): Block<Item> {
  const endsHere = values[position - 1] === value && values[position] !== value;
  const at = endsHere ? position : items.length >>> 1;
  return { values: values.splice(at), items: items.splice(at) };
}

/** Positions of items, counted from the start of a block: counting the blocks before it would slow every look-up. */
export interface ItemRange {
  readonly block: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Items ordered by (value, ordinal), in blocks of a few hundred. Insert, remove and find cost a binary search over the
 * blocks and another inside a block. Pages need positions, for which the lengths of the blocks of a range are added, as
 * no operation may touch every item (ARCHITECTURE.md, Written by hand).
 */
export class SortedList<Item extends OrderedItem> {
  readonly #blocks: Block<Item>[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  insert(value: IndexValue, item: Item): void {
    this.#length += 1;
    const { ordinal } = item;
    const last = this.#blocks.at(-1);
    // Ascending values are the usual case and need no search.
    const isLast = last === undefined || isBefore(last, last.items.length - 1, value, ordinal);
    const index = isLast ? this.#blocks.length - 1 : this.#findBlock(value, ordinal);
    let block = this.#blocks[index];
    let position = isLast ? (block?.items.length ?? 0) : findPosition(block!, value, ordinal);
    const isFull = block === undefined || block.items.length >= maxBlockItems;
    if (block === undefined || (isFull && position === block.items.length)) {
      // A new block follows the full block, because halves would stay half full.
      this.#blocks.splice(index + 1, 0, { values: [value], items: [item] });
      return;
    }
    if (isFull) {
      const secondHalf = splitBlock(block, position, value);
      this.#blocks.splice(index + 1, 0, secondHalf);
      if (position > block.items.length) {
        position -= block.items.length;
        block = secondHalf;
      }
    }
    if (position === block.items.length) {
      block.values.push(value);
      block.items.push(item);
    } else {
      block.values.splice(position, 0, value);
      block.items.splice(position, 0, item);
    }
  }

  /** Removes an item. Returns false if there is no such item. */
  remove(value: IndexValue, ordinal: number): boolean {
    const index = this.#findBlock(value, ordinal);
    const block = this.#blocks[index];
    if (block === undefined) return false;
    const position = findPosition(block, value, ordinal);
    if (block.items[position]?.ordinal !== ordinal || block.values[position] !== value) return false;
    this.#length -= 1;
    if (block.items.length === 1) this.#blocks.splice(index, 1);
    else removeAt(block, position);
    return true;
  }

  /** Finds the items with a value from `from` to `to`, both included and by default unlimited. */
  findRange(from?: IndexValue, to?: IndexValue): ItemRange {
    const blocks = this.#blocks;
    const first = from === undefined ? 0 : this.#findBlock(from, Number.NEGATIVE_INFINITY);
    const last = to === undefined ? blocks.length : this.#findBlock(to, Number.POSITIVE_INFINITY);
    if (blocks.length === 0 || last < first) return { block: 0, start: 0, end: 0 };
    const start = from === undefined ? 0 : findPosition(blocks[first]!, from, Number.NEGATIVE_INFINITY);
    const count = (begin: number, end: number) =>
      blocks.slice(begin, end).reduce((sum, { items }) => sum + items.length, 0);
    const end =
      to === undefined
        ? this.#length - count(0, first)
        : count(first, last) + findPosition(blocks[last]!, to, Number.POSITIVE_INFINITY);
    return { block: first, start, end };
  }

  /** Returns the items at positions `start` (inclusive) to `end` (exclusive) from the start of a block, in order. */
  slice(start: number, end: number, firstBlock = 0): Item[] {
    const items: Item[] = [];
    let skipped = Math.max(0, start);
    const count = end - skipped;
    for (let i = firstBlock; i < this.#blocks.length && items.length < count; i += 1) {
      const block = this.#blocks[i]!;
      if (skipped < block.items.length) items.push(...block.items.slice(skipped, skipped + count - items.length));
      skipped = Math.max(0, skipped - block.items.length);
    }
    return items;
  }

  /** Finds the last block that starts at or before (value, ordinal), or the first block if all start after it. */
  #findBlock(value: IndexValue, ordinal: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const block = this.#blocks[middle]!;
      if (isBefore(block, 0, value, ordinal + 1)) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}
