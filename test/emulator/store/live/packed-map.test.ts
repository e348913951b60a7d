import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { PackedMap } from "../../../../emulator/store/live/packed-map.ts";

/** Few enough to meet again; of all widths and sizes, among them what differs in padding or encoding alone. */
const awkward = ["", "\0", "\0\0", "a", "a\0", "aa", "aaaa", "aaaa\0", "é", "Ă©", "aa\u6161", "\ud800", "\udfff", "😀"];
const text = fc.oneof(
  fc.constantFrom(...awkward),
  fc.string({ unit: fc.constantFrom("a", "é", "語"), maxLength: 3 }),
  fc.integer({ min: 0, max: 400 }).map((i) => `${"x".repeat(i % 70)}${i}`),
);
const step = fc.record({ text, number: fc.option(fc.integer({ min: 1, max: 0xffff_ffff }), { nil: undefined }) });
const steps = fc.array(step, { maxLength: 600, size: "max" });

describe("a packed map", () => {
  it("is a Map, whatever is set and deleted", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const packed = new PackedMap();
        const plain = new Map<string, number>();
        for (const { text, number } of all) {
          if (number === undefined) {
            packed.delete(text);
            plain.delete(text);
          } else {
            assert.deepEqual(packed.set([text], number), [plain.get(text) ?? 0]);
            plain.set(text, number);
          }
          assert.equal(packed.get(text), plain.get(text) ?? 0);
        }
        assert.equal(packed.size, plain.size);
        for (const { text } of all) assert.equal(packed.get(text), plain.get(text) ?? 0);
        assert.deepEqual([...packed.entries()].sort(), [...plain].sort());
      }),
    );
  });

  it("takes lists as it takes their texts, also what stands in one twice", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.array(text, { maxLength: 40 }), fc.nat(3)), { maxLength: 20 }), (all) => {
        const packed = new PackedMap();
        const plain = new Map<string, number>();
        for (const [texts, number] of all) {
          const before = texts.map((each) => {
            const known = plain.get(each) ?? 0;
            plain.set(each, number + 1);
            return known;
          });
          assert.deepEqual(packed.set(texts, number + 1), before);
        }
        assert.deepEqual([...packed.entries()].sort(), [...plain].sort());
      }),
    );
  });

  it("holds many texts, and texts longer than a page", () => {
    const packed = new PackedMap();
    const texts = Array.from({ length: 20_000 }, (_, i) => `${i}`.repeat(1 + (i % 20)));
    texts.push("e".repeat(65_535), "é".repeat(200_000), "語".repeat(1_000_000));
    for (const [i, each] of texts.entries()) packed.set([each], i + 1);
    assert.deepEqual([...new Set(packed.set(texts, 1))].length, texts.length);
    for (const [i, each] of texts.entries()) packed.set([each], i + 1);
    assert.deepEqual(
      texts.map((each) => packed.get(each)),
      texts.map((_, i) => i + 1),
    );
    assert.equal(packed.size, texts.length);
    assert.deepEqual(
      [...packed.entries()],
      texts.map((each, i) => [each, i + 1]),
    );
  });

  it("takes no more room for texts that come and go", () => {
    const packed = new PackedMap();
    const before = process.memoryUsage().arrayBuffers;
    for (let round = 0; round < 200; round += 1) {
      const texts = Array.from({ length: 1_000 }, (_, i) => `${round}-${i}`.padStart(64));
      packed.set(texts, 1);
      for (const each of texts) packed.delete(each);
    }
    assert.equal(packed.size, 0);
    const grown = process.memoryUsage().arrayBuffers - before;
    assert.ok(grown < 1_000_000, `${grown} bytes for what was at most 72,000 at a time`);
  });

  it("visits what stays, and comes to an end, also when entries come and go while it is visited", () => {
    const packed = new PackedMap();
    const stays = Array.from({ length: 1_000 }, (_, i) => `stays ${i}`);
    for (const [i, each] of stays.entries()) {
      packed.set([each, `goes ${i}`], 1);
    }
    const seen = new Set<string>();
    for (const [each] of packed.entries()) {
      seen.add(each);
      packed.delete(`goes ${seen.size}`);
      packed.set([`comes ${seen.size}`], 2);
    }
    assert.deepEqual(
      stays.filter((each) => !seen.has(each)),
      [],
    );
  });
});

describe("a picture of it", () => {
  it("shows the entries of its moment, whatever is set and deleted between two steps, and lets places be used again", () => {
    const name = fc.integer({ min: 0, max: 40 }).map((i) => (i % 3 ? `n${i}` : `née ${i}`));
    const change = fc.record({ name, number: fc.integer({ min: 0, max: 3 }) });
    const changes = fc.array(change, { maxLength: 40 });
    fc.assert(
      fc.property(changes, fc.array(changes, { maxLength: 30 }), (first, later) => {
        const map = new PackedMap();
        const plain = new Map<string, number>();
        const apply = (some: readonly { name: string; number: number }[]) => {
          for (const { name, number } of some) {
            if (number === 0) map.delete(name);
            else map.set([name], number);
            if (number === 0) plain.delete(name);
            else plain.set(name, number);
          }
        };
        apply(first);
        const expected = [...plain].sort();
        const { entries, end } = map.picture();
        const seen: [string, number][] = [];
        for (const step of [...later, ...Array.from({ length: 50 }, () => [])]) {
          apply(step);
          const next = entries.next();
          if (!next.done) seen.push(next.value);
        }
        end();
        assert.deepEqual(seen.sort(), expected);
        assert.deepEqual([...map.entries()].sort(), [...plain].sort());
      }),
    );
  });
});
