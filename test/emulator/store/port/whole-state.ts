import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addChecksum } from "../../../../emulator/store/journal/checksummed-document.ts";
import { StateReplacedError } from "../../../../emulator/store/port.ts";
import { splitAtLineEnds } from "../../../../src/files/read-log.ts";
import { createSignal } from "../../../support/signal.ts";
import {
  createPerson,
  exportContent,
  exportDocument,
  importDocument,
  owners,
  type Person,
  people,
  resetStore,
} from "../../../support/store.ts";
import type { Open } from "./open.ts";

const getIds = (list: readonly Person[]): number[] => list.map((row) => row.id);

/** The whole state is exported and imported as a document, and reset. */
export function defineWholeStateSuite(open: Open): void {
  describe("the whole state", () => {
    it("is exported as one document and imported again", async (t) => {
      const { store: from } = await open(t);
      const { store: to } = await open(t);
      await from.transaction("seed", (tx) => {
        tx.put(people, createPerson(1, { name: 'quote " and\nline', tags: ["ä"] }));
        tx.map(owners, "eu-1", ["a", 'b":"c']);
        tx.next("numbers");
      });
      await to.transaction("other", (tx) => tx.put(people, createPerson(9)));
      await importDocument(to, await exportDocument(from));
      assert.deepEqual(await exportContent(to), {
        sequences: { numbers: 1 },
        rows: { people: [createPerson(1, { name: 'quote " and\nline', tags: ["ä"] })] },
        mappings: { owners: { a: "eu-1", 'b":"c': "eu-1" } },
      });
    });

    const cases: [document: unknown, reason: RegExp][] = [
      [null, /not an object/],
      [{}, /not an exported state/],
      [{ svc_state: 4 }, /another version of svc wrote it in format 4, but this version reads format 1/],
      [{ svc_state: 4, written_by: "9.9.9" }, /svc 9\.9\.9 wrote it in format 4/],
      [{ svc_state: 1, collections: [] }, /"collections" is not an object/],
      [{ svc_state: 1, collections: { people: 0 } }, /"collections"\."people" is not a version/],
      [
        { svc_state: 1, written_by: "9.9.9", collections: { people: 2 } },
        /svc 9\.9\.9 wrote it, with version 2 of people; this version of svc reads versions up to 1/,
      ],
      [{ svc_state: 1, collections: { robots: 1 } }, /a collection robots, which this version of svc does not have/],
      [{ svc_state: 1, rows: { people: [null] } }, /people\[0\] is not a row of people: row/],
      [{ svc_state: 1, rows: { people: {} } }, /"rows"\."people" is not a list/],
      [{ svc_state: 1, rows: [] }, /"rows" is not an object/],
      [
        { svc_state: 1, rows: { people: [createPerson(1), createPerson(1)] } },
        /people\[1\] has the key of another row of people, 1/,
      ],
      [{ svc_state: 1, mappings: { owners: ["a"] } }, /maps "0"|"mappings"\."owners" is not an object/],
      [{ svc_state: 1, sequences: { n: -1 } }, /Sequence n/],
      [{ svc_state: 1, sequences: 5 }, /"sequences" is not an object/],
      [{ svc_state: 1, rows: { people: [{ id: "1" }] } }, /people\[0\] is not a row of people: id/],
      [{ svc_state: 1, rows: { nobody: [{}] } }, /no collection nobody/],
      [{ svc_state: 1, mappings: { owners: { a: 1 } } }, /maps "a" to something other than a string/],
      [{ svc_state: 1, sequences: { n: 0.5 } }, /Sequence n/],
    ];
    for (const [document, reason] of cases) {
      it(`does not change if it is replaced with ${JSON.stringify(document)}`, async (t) => {
        const { store } = await open(t);
        await store.transaction("seed", (tx) => tx.put(people, createPerson(1)));
        await assert.rejects(importDocument(store, document), { name: "StateFormatError", message: reason });
        assert.equal(store.count(people), 1);
      });
    }

    it("is replaced with a state that was loaded next to it, and is saved first", async (t) => {
      const { store } = await open(t);
      const pieces: string[] = [];
      await store.transaction("seed", (tx) => {
        tx.put(people, createPerson(1));
        tx.map(owners, "eu-1", ["a"]);
        tx.next("numbers");
      });
      const before = await exportContent(store);
      const { head, store: next } = await store.load(
        splitAtLineEnds(addChecksum(store.export(() => ({ told: { by: "me" } })))),
      );
      assert.deepEqual(head.told, { by: "me" });
      await next.transaction("amend", (tx) => tx.put(people, createPerson(2)));
      await store.transaction("change", (tx) => tx.delete(people, 1));
      const waited: Promise<unknown>[] = [];
      await store.replaceWith(next, {
        saveReplaced: async (present) => {
          // It waits, and finds another state than the one for which it was started.
          waited.push(store.transaction("late", (tx) => tx.put(people, createPerson(9))));
          for await (const piece of present) pieces.push(piece);
        },
        onReplaced: () => pieces.push("took over"),
      });
      await assert.rejects(waited[0]!, {
        name: "StateReplacedError",
        message: /^late was waiting while its state was replaced/,
      });
      assert.deepEqual(await exportContent(store), { ...before, rows: { people: [createPerson(1), createPerson(2)] } });
      assert.equal(pieces.pop(), "took over");
      assert.deepEqual(JSON.parse(pieces.join("")).rows, { people: [] });
    });

    it("does not change if it cannot be saved", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => tx.put(people, createPerson(1)));
      const keep = () => Promise.reject(new Error("no room"));
      await assert.rejects(store.replaceWith(store.createEmptyStore(), { saveReplaced: keep }), { message: "no room" });
      assert.deepEqual(getIds(store.list(people)), [1]);
    });

    it("accepts no write between a replacement that fails and the next one", async (t) => {
      const { store } = await open(t);
      const fails = createSignal();
      const ends = createSignal();
      const failing = store.replaceWith(store.createEmptyStore(), {
        saveReplaced: () => fails.signaled.then(() => Promise.reject(new Error("full"))),
      });
      const next = store.replaceWith(store.createEmptyStore(), { saveReplaced: () => ends.signaled });
      const writing = store.transaction("write", (tx) => tx.put(people, createPerson(1)));
      const rejections = [assert.rejects(failing, { message: "full" }), assert.rejects(writing, StateReplacedError)];
      fails.raise();
      await rejections[0];
      ends.raise();
      await Promise.all([next, ...rejections]);
      assert.deepEqual(getIds(store.list(people)), []);
    });

    it("is reset completely or not at all", async (t) => {
      const { store } = await open(t);
      await store.transaction("seed", (tx) => tx.put(people, createPerson(1)));
      await assert.rejects(
        resetStore(store, () => {
          throw new Error("no");
        }),
        { message: "no" },
      );
      assert.deepEqual(getIds(store.list(people)), [1]);
      await resetStore(store, (tx) => tx.put(people, createPerson(2)));
      assert.deepEqual(getIds(store.list(people)), [2]);
    });
  });
}
