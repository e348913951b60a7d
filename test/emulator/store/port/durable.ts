import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPerson, exportContent, owners, people, resetStore } from "../../../support/store.ts";
import type { Open } from "./open.ts";

/** When watchers are notified, and what is stored by then. */
export function defineDurableSuite(open: Open): void {
  describe("a commit", () => {
    it("notifies the watchers of the collections that it touched, once, and not after a failure", async (t) => {
      const { store } = await open(t);
      const notifications: string[] = [];
      store.watch([people], () => notifications.push("people"));
      const end = store.watch([people], () => notifications.push("again"));
      await store.transaction("one", (tx) => {
        tx.put(people, createPerson(1));
        tx.put(people, createPerson(2));
      });
      const failing = store.transaction("two", (tx) => {
        tx.put(people, createPerson(3));
        throw new Error("no");
      });
      await assert.rejects(failing, { message: "no" });
      await store.transaction("three", (tx) => tx.map(owners, "eu-1", ["a"]));
      end();
      await store.transaction("four", (tx) => tx.put(people, createPerson(4)));
      assert.deepEqual(notifications, ["people", "again", "people"]);
    });

    it("reports its changes of rows in order, and a replaced state", async (t) => {
      const { store } = await open(t);
      const changeSets: unknown[] = [];
      const end = store.watch([people], (changes) => changeSets.push(changes));
      await store.transaction("one", (tx) => {
        tx.put(people, createPerson(1));
        tx.map(owners, "eu-1", ["a"]);
        tx.put(people, { ...createPerson(1), name: "Other" });
      });
      const failing = store.transaction("two", (tx) => {
        tx.put(people, createPerson(2));
        throw new Error("no");
      });
      await assert.rejects(failing, { message: "no" });
      await store.transaction("three", (tx) => tx.map(owners, "eu-1", ["b"]));
      await store.transaction("four", (tx) => tx.delete(people, 1));
      await resetStore(store, () => {});
      end();
      await store.transaction("six", (tx) => tx.put(people, createPerson(3)));
      const [first, renamed] = [createPerson(1), { ...createPerson(1), name: "Other" }];
      assert.deepEqual(changeSets, [
        [
          { collection: "people", before: undefined, after: first },
          { collection: "people", before: first, after: renamed },
        ],
        [{ collection: "people", before: renamed, after: undefined }],
        "replaced",
      ]);
    });

    it("survives a kill once it is resolved, and a close", async (t) => {
      const { store, durable } = await open(t);
      if (!durable) return t.skip("it forgets");
      await store.transaction("one", (tx) => {
        tx.put(people, createPerson(1));
        tx.map(owners, "eu-1", ["a"]);
        tx.next("numbers");
      });
      const expected = await exportContent(store);
      assert.deepEqual(await exportContent(await durable.afterKill()), expected);
      assert.deepEqual(await exportContent((await durable.reopen()).store), expected);
    });
  });

  describe("waitUntilDurable()", () => {
    it("resolves when earlier commits are durable, and starts nothing", async (t) => {
      const { store, durable } = await open(t);
      await store.waitUntilDurable();
      const notifications: string[] = [];
      store.watch([people], () => notifications.push("people"));
      const writing = store.transaction("one", (tx) => tx.put(people, createPerson(1)));
      // As soon as others can see it.
      const rowCount = store.count(people);
      await store.waitUntilDurable();
      assert.equal(rowCount, 1);
      if (durable) assert.equal((await exportContent(await durable.afterKill())).rows.people?.length, 1);
      await writing;
      assert.deepEqual(notifications, ["people"]);
    });
  });

  describe("a closed store", () => {
    it("rejects everything with a message", async (t) => {
      const { store } = await open(t);
      await Promise.all([store.close(), store.close()]);
      const closedError = { name: "StoreFailedError", message: /The store is closed/ };
      await assert.rejects(
        store.transaction("late", (tx) => tx.put(people, createPerson(1))),
        closedError,
      );
      await assert.rejects(
        resetStore(store, (tx) => tx.put(people, createPerson(1))),
        closedError,
      );
      await assert.rejects(store.waitUntilDurable(), closedError);
    });

    it("lets earlier callers finish", async (t) => {
      const { store, durable } = await open(t);
      const writing = [1, 2, 3].map((id) => store.transaction("write", (tx) => tx.put(people, createPerson(id))));
      const closing = store.close();
      await Promise.all([...writing, closing]);
      if (durable) assert.equal((await exportContent(await durable.afterKill())).rows.people?.length, 3);
    });
  });
}
