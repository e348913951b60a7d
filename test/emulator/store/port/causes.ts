import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addCause, causeEvictionBatch, causes, maxCauses } from "../../../../emulator/store/causes.ts";
import type { Cause, CauseRow, Store } from "../../../../emulator/store/port.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { collections, createPerson, people } from "../../../support/store.ts";
import type { Open } from "./open.ts";

const createCauseRow = (id: string, before?: CauseRow): CauseRow => ({
  id,
  what: "something",
  at: 1,
  wall_at: 2,
  trace: before?.trace ?? "a".repeat(32),
  parent_span: null,
  before: before?.id ?? null,
  moved_by: null,
});
const createCause = (id: string, before?: Cause): Cause => ({
  id,
  before,
  createRow: (knownIds) => createCauseRow(id, knownIds),
});
const listCauses = (store: Store) => store.list(causes);
const listCauseIds = async (store: Store) => (await listCauses(store)).map(({ id }) => id);
const withCauses = { collections: [...collections, causes] };

/** A write names its cause, which the rows record and the store keeps. */
export function defineCausesSuite(open: Open): void {
  describe("the cause of a transaction", () => {
    it("is stored with its changes, once, after the previous cause", async (t) => {
      const { store } = await open(t, withCauses);
      const second = createCause("timer:1", createCause("request:1"));
      await store.transaction("first", (tx) => tx.put(people, createPerson(1)), second);
      await store.transaction("again", (tx) => tx.put(people, createPerson(2)), second);
      const request = createCauseRow("request:1");
      assert.deepEqual(await listCauses(store), [request, createCauseRow("timer:1", request)]);
    });

    it("is not stored if it changes nothing, or if everything is rolled back", async (t) => {
      const { store } = await open(t, withCauses);
      const cause = createCause("request:1");
      await store.transaction("reads", (tx) => tx.list(people), cause);
      await assert.rejects(
        store.transaction(
          "fails",
          (tx) => {
            tx.put(people, createPerson(1));
            throw new Error("no");
          },
          cause,
        ),
        { message: "no" },
      );
      assert.deepEqual(await listCauses(store), []);
      await store.transaction("writes", (tx) => tx.put(people, createPerson(1)), cause);
      assert.deepEqual(await listCauseIds(store), ["request:1"]);
    });

    it("is known inside, and a part of the work can have another one", async (t) => {
      const { store } = await open(t, withCauses);
      const causeIds: (string | undefined)[] = [];
      const advanceStore = addCause(store, createCause("advance:1"));
      await advanceStore.transaction("record", (tx) => {
        causeIds.push(tx.cause?.id);
        tx.withCause(createCause("timer:1"), () => {
          causeIds.push(tx.cause?.id);
          tx.put(people, createPerson(1));
        });
        // Written earlier, so that only its id is known.
        tx.withCause({ id: "request:9" }, () => {
          causeIds.push(tx.cause?.id);
          tx.put(people, createPerson(2));
        });
        tx.withCause(createCause("timer:2"), () => causeIds.push(tx.cause?.id));
        tx.withCause(undefined, () => causeIds.push(tx.cause?.id));
        causeIds.push(tx.cause?.id);
      });
      assert.deepEqual(causeIds, ["advance:1", "timer:1", "request:9", "timer:2", undefined, "advance:1"]);
      assert.deepEqual(await listCauseIds(store), ["timer:1", "advance:1"]);
    });

    it("is dropped for newer ones when there are too many", async (t) => {
      const { store } = await open(t, withCauses);
      await store.transaction("many", (tx) => {
        for (let n = 1; n <= maxCauses + 2; n += 1) {
          tx.withCause(createCause(`request:${n}`), () => tx.put(people, createPerson(1)));
        }
      });
      const ids = await listCauseIds(store);
      const retainedCount = maxCauses + 2 - causeEvictionBatch;
      const oldest = `request:${causeEvictionBatch + 1}`;
      assert.deepEqual([ids.length, ids[0], ids.at(-1)], [retainedCount, oldest, `request:${maxCauses + 2}`]);
    });

    it("survives a kill together with its changes", async (t) => {
      const { store, durable: disk } = await open(t, withCauses);
      if (!disk) return;
      await store.transaction("writes", (tx) => tx.put(people, createPerson(1)), createCause("request:1"));
      const after = await disk.afterKill();
      addCleanup(t, () => after.close());
      assert.deepEqual(await listCauses(after), [createCauseRow("request:1")]);
    });
  });
}
