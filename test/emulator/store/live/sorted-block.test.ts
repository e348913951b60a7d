import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SortedBlock } from "../../../../emulator/store/live/sorted-list.ts";

interface Item {
  readonly ordinal: number;
}

describe("block of a sorted list", () => {
  it("holds 512 items, and is split in half by an insertion in the middle", () => {
    const block = new SortedBlock<Item>([0], [{ ordinal: 0 }]);
    for (let value = 1; value < 511; value += 1) block.append(value, { ordinal: value });
    assert.deepEqual([block.length, block.isFull], [511, false]);
    block.append(511, { ordinal: 511 });
    assert.deepEqual([block.length, block.isFull], [512, true]);
    const behind = block.split(100, 99.5);
    assert.deepEqual([block.length, block.isFull, behind.length, behind.isFull], [256, false, 256, false]);
  });

  it("is split after the items of a growing value", () => {
    const block = new SortedBlock<Item>([1], [{ ordinal: 0 }]);
    for (let ordinal = 1; ordinal < 512; ordinal += 1) block.append(ordinal < 400 ? 1 : 2, { ordinal });
    const behind = block.split(400, 1);
    assert.deepEqual([block.length, behind.length], [400, 112]);
  });
});
