import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPerson, exportContent, owners, type Person, people } from "../../../support/store.ts";
import type { Open } from "./open.ts";

const getIds = (list: readonly Person[]): number[] => list.map((row) => row.id);

/** Transactions are atomic, serial and isolated from readers, cannot be nested, and have a time limit. */
export function defineTransactionsSuite(open: Open): void {
  describe("a transaction", () => {
    it("that fails leaves nothing behind", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => {
        for (const id of [1, 2, 3]) tx.put(people, createPerson(id, { age: id, tags: ["x"] }));
        tx.map(owners, "eu-1", ["a", "b"]);
        tx.next("numbers");
      });
      const before = await exportContent(store);
      const failing = store.transaction("fail", (tx) => {
        tx.delete(people, 2);
        tx.put(people, createPerson(2, { age: 7 }));
        tx.put(people, createPerson(1, { name: "other" }));
        tx.put(people, createPerson(4));
        tx.map(owners, "us-1", ["b", "b", "c"]);
        tx.unmap(owners, "eu-1", ["a"]);
        tx.next("numbers");
        tx.next("others");
        assert.equal(tx.count(people), 4);
        throw new Error("no");
      });
      await assert.rejects(failing, { message: "no" });
      assert.deepEqual(await exportContent(store), before);
      const tagged = getIds(store.list(people, { by: "tag" }));
      assert.deepEqual(tagged, [1, 2, 3]);
    });

    it("reads its own writes, also synchronously", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => [1, 2].forEach((id) => void tx.put(people, createPerson(id))));
      const results = await store.transaction("change", (tx) => {
        tx.put(people, createPerson(1, { name: "other" }));
        tx.delete(people, 2);
        tx.put(people, createPerson(3));
        return [1, 2, 3].map((key) => tx.get(people, key));
      });
      assert.deepEqual(results, [createPerson(1, { name: "other" }), undefined, createPerson(3)]);
    });

    it("inside another one fails as a bug that names the operation, and changes nothing", async (t) => {
      const { store } = await open(t);
      const begin = () => [store.transaction("inner", (tx) => tx.put(people, createPerson(2)))];
      const [inOther] = await store.transaction("outer", begin);
      await assert.rejects(inOther!, {
        name: "EmulatorBugError",
        operation: "inner",
        message: /inside transaction outer/,
      });
      assert.equal(store.count(people), 0);
    });

    it("fails as a bug if its work is asynchronous, and is undone", async (t) => {
      const { store } = await open(t);
      const writing = store.transaction("slow", async (tx) => {
        tx.put(people, createPerson(1));
        await Promise.reject(new Error("ignored"));
      });
      await assert.rejects(writing, { name: "EmulatorBugError", message: /transaction slow is asynchronous/ });
      assert.equal(store.count(people), 0);
    });

    it("cannot be used after its end", async (t) => {
      const { store } = await open(t);
      const leaked = await store.transaction("ended", (tx) => tx);
      assert.throws(() => leaked.count(people), {
        name: "EmulatorBugError",
        message: "Transaction ended was used after its end",
      });
    });
  });
}
