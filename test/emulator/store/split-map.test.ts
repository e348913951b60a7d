import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SplitMap } from "../../../emulator/store/split-map.ts";

const key = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 4 });
const step = fc.record({ key, value: fc.option(fc.constantFrom("eu-1", "us-1"), { nil: undefined }) });

describe("a map that splits", () => {
  it("is a Map, however often it has split", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (steps, limit) => {
        const split = new SplitMap(limit);
        const plain = new Map<string, string>();
        for (const { key, value } of steps) {
          if (value === undefined) {
            split.delete(key);
            plain.delete(key);
          } else {
            split.set(key, value);
            plain.set(key, value);
          }
          assert.equal(split.get(key), plain.get(key));
        }
        assert.equal(split.size, plain.size);
        assert.deepEqual([...split.entries()].sort(), [...plain].sort());
      }),
    );
  });

  it("visits what stays, also when it splits while it is visited", () => {
    const split = new SplitMap(8);
    for (const key of ["aa", "ab", "ba", "bb", "ca"]) split.set(key, "eu-1");
    const seen = new Set<string>();
    for (const [key] of split.entries()) {
      seen.add(key);
      if (seen.size === 2) for (const more of ["a1", "a2", "b1", "b2", "c1"]) split.set(more, "us-1");
    }
    assert.deepEqual(
      ["aa", "ab", "ba", "bb", "ca"].filter((each) => !seen.has(each)),
      [],
    );
  });
});
