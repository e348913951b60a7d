import type { IndexValue } from "../port.ts";

/** The order of a sorted list: by its value, then by `ordinal`, which no two items of a list share. */
interface OrderedItem {
  readonly ordinal: number;
}

const maxBlockItems = 512;

/** A few hundred items of a sorted list, with the values that order them. Never empty. */
export class SortedBlock<Item extends OrderedItem> {
  readonly #values: IndexValue[];
  readonly #items: Item[];

  constructor(values: IndexValue[], items: Item[]) {
    this.#values = values;
    this.#items = items;
  }

  get length(): number {
    return this.#items.length;
  }

  get isFull(): boolean {
    return this.length >= maxBlockItems;
  }

  /** Reports whether its first item comes before (value, ordinal). */
  startsBefore(value: IndexValue, ordinal: number): boolean {
    return this.#isBefore(0, value, ordinal);
  }

  /** Reports whether all its items come before (value, ordinal). */
  endsBefore(value: IndexValue, ordinal: number): boolean {
    return this.#isBefore(this.length - 1, value, ordinal);
  }

  findPosition(value: IndexValue, ordinal: number): number {
    return findFirst(this.length, (at) => !this.#isBefore(at, value, ordinal));
  }

  hasItemAt(position: number, value: IndexValue, ordinal: number): boolean {
    return this.#items[position]?.ordinal === ordinal && this.#values[position] === value;
  }

  append(value: IndexValue, item: Item): void {
    this.#values.push(value);
    this.#items.push(item);
  }

  insert(position: number, value: IndexValue, item: Item): void {
    this.#values.splice(position, 0, value);
    this.#items.splice(position, 0, item);
  }

  remove(position: number): void {
    this.#values.splice(position, 1);
    this.#items.splice(position, 1);
  }

  /**
   * Splits the block in half. If a growing value ends in it, splits it there, so that the items of this value stay at
   * an end. Returns the second half.
   */
  split(position: number, value: IndexValue): SortedBlock<Item> {
    const endsHere = this.#values[position - 1] === value && this.#values[position] !== value;
    const splitPosition = endsHere ? position : this.length >>> 1;
    return new SortedBlock(this.#values.splice(splitPosition), this.#items.splice(splitPosition));
  }

  /** Copies the items between two positions (the second exclusive) to a list. */
  copyTo(target: Item[], from: number, end: number): void {
    for (let i = from; i < end; i += 1) target.push(this.#items[i]!);
  }

  #isBefore(at: number, value: IndexValue, ordinal: number): boolean {
    const ownValue = this.#values[at]!;
    // Numbers and strings have separate branches with the same code, because a comparison of both types is slower.
    if (typeof ownValue === "number")
      return ownValue === value ? this.#items[at]!.ordinal < ordinal : ownValue < (value as number);
    return ownValue === value ? this.#items[at]!.ordinal < ordinal : ownValue < (value as string);
  }
}

/** Finds the first of `length` positions that passes a test which all later positions pass too, or `length`. */
function findFirst(length: number, passes: (at: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Items ordered by (value, ordinal), in blocks of a few hundred. Insert, remove and rank cost a binary search over the
 * blocks and another inside a block. Positions of blocks are recounted only after a change. Pages need positions, and
 * no operation may touch every item (ARCHITECTURE.md, Written by hand).
 */
export class SortedList<Item extends OrderedItem> {
  readonly #blocks: SortedBlock<Item>[] = [];
  #length = 0;
  /** The position of each block's first item, for the blocks before the first change. */
  readonly #starts: number[] = [0];

  get length(): number {
    return this.#length;
  }

  insert(value: IndexValue, item: Item): void {
    this.#length += 1;
    const lastIndex = this.#blocks.length - 1;
    // Ascending values are the usual case and need no search.
    if (lastIndex < 0 || this.#blocks[lastIndex]!.endsBefore(value, item.ordinal)) this.#append(lastIndex, value, item);
    else this.#insertAt(this.#findBlock(value, item.ordinal), value, item);
  }

  remove(value: IndexValue, ordinal: number): void {
    const blockIndex = this.#findBlock(value, ordinal);
    const block = this.#blocks[blockIndex];
    if (block === undefined) return;
    const position = block.findPosition(value, ordinal);
    if (!block.hasItemAt(position, value, ordinal)) return;
    this.#length -= 1;
    this.#invalidateStarts(blockIndex);
    if (block.length > 1) block.remove(position);
    else this.#blocks.splice(blockIndex, 1);
  }

  /** Counts the items with a value below `value`. With `includesEqual`, also counts the items with that value. */
  rank(value: IndexValue, includesEqual = false): number {
    const ordinal = includesEqual ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    const blockIndex = this.#findBlock(value, ordinal);
    const block = this.#blocks[blockIndex];
    if (block === undefined) return 0;
    return this.#getStart(blockIndex) + block.findPosition(value, ordinal);
  }

  /** Returns the items at positions `start` (inclusive) to `end` (exclusive), in order. */
  slice(start: number, end: number): Item[] {
    const items: Item[] = [];
    const from = Math.max(0, start);
    let remaining = Math.min(end, this.#length) - from;
    if (remaining <= 0) return items;
    let blockIndex = this.#findBlockAt(from);
    for (let skip = from - this.#getStart(blockIndex); remaining > 0; skip = 0, blockIndex += 1) {
      const block = this.#blocks[blockIndex]!;
      const end = Math.min(block.length, skip + remaining);
      block.copyTo(items, skip, end);
      remaining -= end - skip;
    }
    return items;
  }

  #getStart(blockIndex: number): number {
    for (let index = this.#starts.length; index <= blockIndex; index += 1) {
      this.#starts.push(this.#starts[index - 1]! + this.#blocks[index - 1]!.length);
    }
    return this.#starts[blockIndex]!;
  }

  #invalidateStarts(blockIndex: number): void {
    if (this.#starts.length > blockIndex + 1) this.#starts.length = blockIndex + 1;
  }

  #findBlockAt(position: number): number {
    return findFirst(this.#blocks.length, (at) => this.#getStart(at) > position) - 1;
  }

  /** Finds the last block that starts at or before (value, ordinal), or the first block if all start after it. */
  #findBlock(value: IndexValue, ordinal: number): number {
    const next = findFirst(this.#blocks.length, (at) => !this.#blocks[at]!.startsBefore(value, ordinal + 1));
    return Math.max(0, next - 1);
  }

  /** Starts a new block after a full block, because halves would stay half full. */
  #append(blockIndex: number, value: IndexValue, item: Item): void {
    const block = this.#blocks[blockIndex];
    if (block !== undefined && !block.isFull) block.append(value, item);
    else this.#blocks.splice(blockIndex + 1, 0, new SortedBlock([value], [item]));
  }

  #insertAt(blockIndex: number, value: IndexValue, item: Item): void {
    const block = this.#blocks[blockIndex]!;
    const position = block.findPosition(value, item.ordinal);
    this.#invalidateStarts(blockIndex);
    if (position === block.length) {
      this.#append(blockIndex, value, item);
    } else if (!block.isFull) {
      block.insert(position, value, item);
    } else {
      const secondHalf = block.split(position, value);
      this.#blocks.splice(blockIndex + 1, 0, secondHalf);
      if (position <= block.length) block.insert(position, value, item);
      else secondHalf.insert(position - block.length, value, item);
    }
  }
}
