import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Store, Transaction } from "../../../../emulator/store/port.ts";
import { createPerson, exportContent, owners, people, resetStore } from "../../../support/store.ts";
import type { Open } from "./open.ts";

/** More than fits in a few pieces, so that there is time to write between two of them. */
const rowCount = 12_000;

const seed = (tx: Transaction): void => {
  for (let id = 1; id <= rowCount; id += 1) tx.put(people, createPerson(id, { age: id % 7 }));
  tx.map(
    owners,
    "eu-1",
    Array.from({ length: rowCount }, (_, i) => `identifier ${i}`),
  );
  tx.next("numbers");
};

/** All kinds of changes: added, replaced, removed, moved, and added again after a removal. */
const createChange =
  (round: number) =>
  (tx: Transaction): void => {
    const selectIds = (step: number) =>
      Array.from({ length: 40 }, (_, i) => (i * 293 + step * 31 + round * 7) % rowCount);
    for (const id of selectIds(1)) tx.delete(people, id);
    for (const id of selectIds(2)) tx.put(people, createPerson(id, { name: `of round ${round}` }));
    tx.unmap(
      owners,
      "eu-1",
      selectIds(3).map((i) => `identifier ${i}`),
    );
    tx.map(
      owners,
      "us-1",
      selectIds(4).map((i) => `identifier ${i}`),
    );
    tx.map(
      owners,
      "us-2",
      selectIds(5).map((i) => `identifies ${i}`),
    );
    tx.put(people, createPerson(rowCount + round));
    tx.next("numbers");
  };

async function joinPieces(pieces: AsyncIterable<string>, between: () => Promise<unknown>): Promise<unknown> {
  let text = "";
  for await (const piece of pieces) {
    text += piece;
    await between();
  }
  const { sequences, rows, mappings } = JSON.parse(text);
  return { sequences, rows, mappings };
}

async function seedAndExport(store: Store): Promise<unknown> {
  await store.transaction("seed", seed);
  return exportContent(store);
}

/** An export shows one moment and blocks no other work. */
export function defineExportSuite(open: Open): void {
  describe("an export", () => {
    it("has the state at its start, whatever is written while it is read", async (t) => {
      const { store } = await open(t);
      const before = await seedAndExport(store);
      let round = 0;
      const pieces = await joinPieces(store.export(), async () => {
        round += 1;
        await store.transaction("change", createChange(round));
        const failing = store.transaction("fail", (tx) => {
          createChange(round + 100)(tx);
          throw new Error("no");
        });
        await assert.rejects(failing, { message: "no" });
      });
      assert.ok(round > 10, `only ${round} pieces`);
      assert.deepEqual(pieces, before);
      const { sequences } = await exportContent(store);
      assert.deepEqual(sequences, { numbers: 1 + round });
    });

    it("has its own moment, next to another one", async (t) => {
      const { store } = await open(t);
      const before = await seedAndExport(store);
      let later: Promise<unknown> | undefined;
      let expected: unknown;
      let round = 0;
      const exported = await joinPieces(store.export(), async () => {
        round += 1;
        await store.transaction("change", createChange(round));
        if (round !== 4) return;
        expected = await exportContent(store);
        const pieces = store.export()[Symbol.asyncIterator]();
        const first = await pieces.next();
        later = joinPieces(resumePieces(first.value, pieces), async () => {});
      });
      assert.deepEqual([exported, await later], [before, expected]);
    });

    it("continues when the exported state is replaced", async (t) => {
      const { store } = await open(t);
      const before = await seedAndExport(store);
      let isReset = false;
      const exported = await joinPieces(store.export(), async () => {
        if (!isReset) await resetStore(store, (tx) => tx.put(people, createPerson(1)));
        isReset = true;
      });
      assert.deepEqual(exported, before);
      assert.equal(store.count(people), 1);
    });

    it("leaves nothing behind if it is not read to its end", async (t) => {
      const { store } = await open(t);
      await seedAndExport(store);
      for await (const _ of store.export()) break;
      for (let round = 1; round < 5; round += 1) await store.transaction("change", createChange(round));
      const found = await joinPieces(store.export(), async () => {});
      assert.deepEqual(found, await exportContent(store));
    });
  });
}

async function* resumePieces(first: string, pieces: AsyncIterator<string>): AsyncGenerator<string, void> {
  yield first;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}
