import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SortedList } from "../../../../emulator/store/live/sorted-list.ts";

interface Item {
  readonly ordinal: number;
  readonly value: number;
}

/** Generates the same pseudo-random numbers each time. */
function* generateNumbers(): Generator<number, never> {
  for (let seed = 7; ; ) {
    seed = (seed * 48_271) % 2_147_483_647;
    yield seed;
  }
}

function select<Each extends { readonly ordinal: number }>(
  list: SortedList<Each>,
  ...limits: Parameters<typeof list.findRange>
) {
  const { block, start, end } = list.findRange(...limits);
  return list.slice(start, end, block);
}

describe("sorted list of several thousand items", () => {
  it("preserves its order, ranges and slices while items are added and removed", () => {
    const random = generateNumbers();
    const list = new SortedList<Item>();
    const plain: Item[] = [];
    const compareItems = (a: Item, b: Item) => a.value - b.value || a.ordinal - b.ordinal;
    for (let ordinal = 1; ordinal <= 6_000; ordinal += 1) {
      // Half of the values ascend, as in most indexes, and half are random.
      const item = { ordinal, value: ordinal % 2 ? 1_000 + ordinal : random.next().value % 2_000 };
      list.insert(item.value, item);
      plain.push(item);
      if (ordinal % 5 === 0) {
        const [removed] = plain.splice(random.next().value % plain.length, 1);
        list.remove(removed!.value, removed!.ordinal);
        list.remove(removed!.value, removed!.ordinal);
      }
      if (ordinal % 250 > 0) continue;
      plain.sort(compareItems);
      const at = random.next().value % plain.length;
      const value = plain[at]!.value;
      assert.deepEqual(
        {
          length: list.length,
          from: select(list, value),
          through: select(list, undefined, value),
          equal: select(list, value, value),
          between: select(list, value - 300, value + 300),
          inverted: select(list, value + 900, value - 900),
          slice: list.slice(at - 20, at + 700),
          all: list.slice(0, Number.POSITIVE_INFINITY),
        },
        {
          length: plain.length,
          from: plain.filter((each) => each.value >= value),
          through: plain.filter((each) => each.value <= value),
          equal: plain.filter((each) => each.value === value),
          between: plain.filter((each) => each.value >= value - 300 && each.value <= value + 300),
          inverted: [],
          slice: plain.slice(Math.max(0, at - 20), at + 700),
          all: plain,
        },
      );
    }
    for (const { value, ordinal } of plain) list.remove(value, ordinal);
    assert.deepEqual([list.length, select(list, 5), list.slice(0, 9)], [0, [], []]);
  });

  it("preserves its order while items move between a few values", () => {
    const random = generateNumbers();
    const list = new SortedList<{ readonly ordinal: number }>();
    const items = Array.from({ length: 3_000 }, (_, before) => ({ ordinal: before + 1 }));
    for (const item of items) list.insert("waiting", item);
    const waiting = [...items];
    const delivered: typeof items = [];
    while (waiting.length > 0) {
      const [item] = waiting.splice(random.next().value % Math.min(100, waiting.length), 1);
      list.remove("waiting", item!.ordinal);
      list.insert("delivered", item!);
      delivered.push(item!);
      if (delivered.length % 250 > 0) continue;
      delivered.sort((a, b) => a.ordinal - b.ordinal);
      assert.deepEqual(list.slice(0, Number.POSITIVE_INFINITY), [...delivered, ...waiting]);
      assert.deepEqual([select(list, "delivered", "delivered"), list.length], [delivered, items.length]);
    }
  });
});
