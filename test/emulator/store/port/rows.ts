import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineMapping, defineRows } from "../../../../emulator/store/port.ts";
import { createPerson, owners, type Person, people } from "../../../support/store.ts";
import type { Open } from "./open.ts";

const getIds = (list: readonly Person[]): number[] => list.map((row) => row.id);

/** Order, indexes and slices of rows, results of mappings, and the list of collections. */
export function defineRowsSuite(open: Open): void {
  describe("rows", () => {
    it("are listed by an index, then in the order of insertion", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => {
        tx.put(people, createPerson(1, { age: 30, tags: ["a"] }));
        tx.put(people, createPerson(2, { age: 20, tags: ["a", "b"] }));
        tx.put(people, createPerson(3, { age: 30 }));
        tx.put(people, createPerson(4));
      });
      const contents = {
        all: getIds(store.list(people)),
        newest: getIds(store.list(people, { reverse: true, offset: 1, limit: 2 })),
        byAge: getIds(store.list(people, { by: "age" })),
        thirty: getIds(store.list(people, { by: "age", equals: 30, reverse: true })),
        from21: getIds(store.list(people, { by: "age", from: 21, to: 30, offset: 1 })),
        tagged: getIds(store.list(people, { by: "tag", equals: "a" })),
        counts: [store.count(people), store.count(people, { by: "age" })],
      };
      assert.deepEqual(contents, {
        all: [1, 2, 3, 4],
        newest: [3, 2],
        byAge: [2, 1, 3],
        thirty: [3, 1],
        from21: [3],
        tagged: [1, 2],
        counts: [4, 3],
      });
    });

    it("keep their position when they are replaced, and move in the indexes", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => {
        for (const id of [1, 2, 3]) tx.put(people, createPerson(id, { age: id }));
      });
      await store.transaction("replace", (tx) => tx.put(people, createPerson(1, { age: 9 })));
      const results = [getIds(store.list(people)), getIds(store.list(people, { by: "age" }))];
      assert.deepEqual(results, [
        [1, 2, 3],
        [2, 3, 1],
      ]);
    });

    it("are frozen deeply", async (t) => {
      const { store } = await open(t);
      const row = createPerson(1, { tags: ["a"] });
      await store.transaction("seed", (tx) => tx.put(people, row));
      assert.throws(() => row.tags.push("b"), TypeError);
      assert.throws(() => Object.assign(row, { name: "other" }), TypeError);
    });
  });

  describe("a mapping", () => {
    it("returns how many identifiers were moved, and how many were removed", async (t) => {
      const { store } = await open(t);
      const moved = await store.transaction("map", (tx) => [
        tx.map(owners, "eu-1", ["a", "b", "c"]).moved,
        tx.map(owners, "us-1", ["b", "d"]).moved,
        tx.unmap(owners, "eu-1", ["a", "a", "b", "nobody"]).removed,
      ]);
      assert.deepEqual(moved, [0, 1, 1]);
      const results = [store.lookup(owners, "a"), store.lookup(owners, "b"), store.size(owners)];
      assert.deepEqual(results, [undefined, "us-1", 3]);
    });
  });

  describe("the list of collections", () => {
    it("names each collection once", async (t) => {
      const twice = [defineMapping("owners"), defineMapping("owners")];
      await assert.rejects(open(t, { collections: twice }), /Two collections have the name owners/);
    });

    it("is the only source of collections", async (t) => {
      const { store } = await open(t);
      const unknownCollection = defineRows<Person>({ ...people, name: "unknown", indexes: {} });
      assert.throws(() => store.list(unknownCollection), {
        name: "EmulatorBugError",
        message: /unknown is not in the list/,
      });
    });
  });
}
