import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { View } from "../../../../emulator/store/port.ts";
import { createPerson, exportContent, owners, type Person, people } from "../../../support/store.ts";
import { createManualWall, createSignal } from "./hands.ts";
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
      const failing = store.transaction("fail", async (tx) => {
        tx.delete(people, 2);
        tx.put(people, createPerson(2, { age: 7 }));
        tx.put(people, createPerson(1, { name: "other" }));
        tx.put(people, createPerson(4));
        tx.map(owners, "us-1", ["b", "b", "c"]);
        tx.unmap(owners, "eu-1", ["a"]);
        tx.next("numbers");
        tx.next("others");
        assert.equal(await tx.count(people), 4);
        throw new Error("no");
      });
      await assert.rejects(failing, { message: "no" });
      assert.deepEqual(await exportContent(store), before);
      const tagged = await store.read(async (view) => getIds(await view.list(people, { by: "tag" })));
      assert.deepEqual(tagged, [1, 2, 3]);
    });

    it("reads its own writes, also synchronously", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => [1, 2].forEach((id) => void tx.put(people, createPerson(id))));
      const results = await store.transaction("change", (tx) => {
        tx.put(people, createPerson(1, { name: "other" }));
        tx.delete(people, 2);
        tx.put(people, createPerson(3));
        return [1, 2, 3].map((key) => tx.getSync(people, key));
      });
      assert.deepEqual(results, [createPerson(1, { name: "other" }), undefined, createPerson(3)]);
    });

    it("hides its writes from readers until it ends", async (t) => {
      const { store } = await open(t);
      const written = createSignal();
      const proceed = createSignal();
      const writing = store.transaction("slow", async (tx) => {
        tx.put(people, createPerson(1));
        written.raise();
        await proceed.signaled;
        tx.put(people, createPerson(2));
      });
      await written.signaled;
      const reading = store.read((view) => view.count(people));
      proceed.raise();
      await writing;
      assert.equal(await reading, 2);
    });

    it("waits until earlier reads end", async (t) => {
      const { store } = await open(t);
      const proceed = createSignal();
      const order: string[] = [];
      const reading = store.read(async (view) => {
        const before = await view.count(people);
        await proceed.signaled;
        order.push(`read ${before} ${await view.count(people)}`);
      });
      const writing = store.transaction("write", (tx) => {
        tx.put(people, createPerson(1));
        order.push("write");
      });
      proceed.raise();
      await Promise.all([reading, writing]);
      assert.deepEqual(order, ["read 0 0", "write"]);
    });

    it("inside another one, or inside a read, fails as a bug that names the operation, and both are undone", async (t) => {
      const { store } = await open(t);
      const inner = () => store.transaction("inner", (tx) => tx.put(people, createPerson(2)));
      const outer = store.transaction("outer", async (tx) => {
        tx.put(people, createPerson(1));
        await inner();
      });
      await assert.rejects(outer, {
        name: "EmulatorBugError",
        operation: "inner",
        message: /inside transaction outer/,
      });
      await assert.rejects(store.read(inner), {
        name: "EmulatorBugError",
        operation: "inner",
        message: /inside a read/,
      });
      assert.equal(await store.read((view) => view.count(people)), 0);
    });

    it("inside another one, or inside a read, after an await, ends both within 2 s", async (t) => {
      const wall = createManualWall();
      const { store } = await open(t, { wall });
      const opening = createSignal();
      const readAndWrite = async (view: View) => {
        await view.count(people);
        const inner = store.transaction("inner", (tx) => tx.put(people, createPerson(2)));
        opening.raise();
        await inner;
      };
      const reading = store.read(readAndWrite);
      await opening.signaled;
      wall.move(1_999);
      wall.move(1);
      await assert.rejects(reading, { name: "EmulatorBugError", operation: "inner", message: /for a read to end/ });
      assert.equal(await store.read((view) => view.count(people)), 0);
      const outer = store.transaction("outer", readAndWrite);
      await assert.rejects(Promise.all([outer, Promise.resolve().then(() => wall.move(2_000))]), {
        name: "EmulatorBugError",
        operation: "outer",
        message: /more than 2 s/,
      });
    });

    it("reads its own writes through the store too", async (t) => {
      const { store } = await open(t);
      const rowCount = await store.transaction("outer", (tx) => {
        tx.put(people, createPerson(1));
        return store.read((view) => view.count(people));
      });
      assert.equal(rowCount, 1);
    });

    it("that stays open for more than 2 s is rolled back, and its later calls fail", async (t) => {
      const wall = createManualWall();
      const { store } = await open(t, { wall });
      const opening = createSignal();
      const proceed = createSignal();
      const ending = createSignal();
      let lateError: unknown;
      const stuck = store.transaction("stuck", async (tx) => {
        tx.put(people, createPerson(1));
        opening.raise();
        await proceed.signaled;
        try {
          tx.put(people, createPerson(2));
        } catch (error) {
          lateError = error;
        }
        ending.raise();
      });
      const next = store.transaction("next", (tx) => tx.put(people, createPerson(3)));
      await opening.signaled;
      wall.move(1_999);
      wall.move(1);
      await assert.rejects(stuck, { name: "EmulatorBugError", operation: "stuck", message: /more than 2 s/ });
      await next;
      proceed.raise();
      await ending.signaled;
      assert.deepEqual(getIds(await store.read((view) => view.list(people))), [3]);
      assert.match(String(lateError), /after its read or transaction had ended/);
    });
  });

  describe("a view", () => {
    it("cannot be used after its end", async (t) => {
      const { store } = await open(t);
      let leaked: View | undefined;
      await store.read((view) => {
        leaked = view;
      });
      assert.throws(() => leaked?.count(people), { name: "EmulatorBugError" });
    });
  });
}
