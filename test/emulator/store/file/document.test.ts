import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import {
  collections,
  createPerson,
  createTemporaryFolder,
  exportContent,
  exportDocument,
  importDocument,
  owners,
  people,
} from "../../../support/store.ts";

describe("an exported state", () => {
  it("transfers rows, identifiers and sequences to another file", async (t) => {
    const open = async () =>
      openFileStore({
        path: join(await createTemporaryFolder(t), "emulator.json"),
        collections,
        wall: systemWallClock,
      });
    const from = await open();
    await from.transaction("fill", (tx) => {
      for (const id of [2, 1]) tx.put(people, createPerson(id, { age: id, tags: ["é"] }));
      tx.map(owners, "eu-1", ["a", "__proto__"]);
      tx.map(owners, "us-1", ["b"]);
      tx.next("numbers");
    });
    const document = await exportDocument(from);
    await from.close();

    const path = join(await createTemporaryFolder(t), "emulator.json");
    const to = await openFileStore({ path, collections, wall: systemWallClock });
    await to.transaction("before", (tx) => tx.map(owners, "eu-1", ["gone"]));
    await importDocument(to, document);
    const { sequences, rows, mappings } = document;
    assert.deepEqual(await exportContent(to), { sequences, rows, mappings });
    assert.deepEqual(
      ["a", "b", "__proto__", "gone"].map((name) => to.lookup(owners, name)),
      ["eu-1", "us-1", "eu-1", undefined],
    );
    await to.close();
    const reopenedStore = await openFileStore({ path, collections, wall: systemWallClock });
    assert.deepEqual(await exportContent(reopenedStore), { sequences, rows, mappings });
    await reopenedStore.close();
  });
});
