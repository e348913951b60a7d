import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { SnapshotStore } from "../../../../emulator/store/blobs.ts";
import { openFileSnapshotStore } from "../../../../emulator/store/file/file-snapshot-store.ts";
import { createMemorySnapshotStore } from "../../../../emulator/store/memory-store.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

async function* streamText(...pieces: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function* streamFailing(): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from("half");
  throw new Error("no more");
}

async function readSnapshot(snapshotStore: SnapshotStore, name: string): Promise<string | undefined> {
  const document = await snapshotStore.open(name);
  if (!document) return undefined;
  let content = "";
  for await (const block of document) content += Buffer.from(block).toString();
  return content;
}

const stores: Record<string, (t: TestContext) => Promise<SnapshotStore>> = {
  "in memory": async () => createMemorySnapshotStore(),
  "in a folder": async (t) => openFileSnapshotStore({ folder: join(await createTemporaryFolder(t), "snapshots") }),
};

for (const [location, open] of Object.entries(stores)) {
  describe(`snapshot store ${location}`, () => {
    it("returns the last document stored under each name", async (t) => {
      const snapshotStore = await open(t);
      assert.deepEqual(await snapshotStore.list(), []);
      await snapshotStore.put("a", streamText("one\ntw", "o\n"));
      await snapshotStore.put("a10", streamText("ten\n"));
      await snapshotStore.put("a9", streamText("nine"));
      assert.equal(await readSnapshot(snapshotStore, "a"), "one\ntwo\n");
      await snapshotStore.put("A", streamText("three\n"));
      assert.deepEqual(
        (await snapshotStore.list()).map(({ name, bytes }) => [name, bytes]),
        [
          ["A", 6],
          ["a9", 4],
          ["a10", 4],
        ],
      );
      assert.deepEqual(
        [await readSnapshot(snapshotStore, "A"), await readSnapshot(snapshotStore, "b")],
        ["three\n", undefined],
      );
      assert.deepEqual([await snapshotStore.remove("A"), await snapshotStore.remove("A")], [true, false]);
    });

    it("retains the old document if the new one fails", async (t) => {
      const snapshotStore = await open(t);
      await snapshotStore.put("a", streamText("one"));
      await assert.rejects(snapshotStore.put("a", streamFailing()), { message: "no more" });
      await assert.rejects(snapshotStore.put("b", streamFailing()), { message: "no more" });
      assert.deepEqual([await readSnapshot(snapshotStore, "a"), (await snapshotStore.list()).length], ["one", 1]);
    });
  });
}

it("a snapshot store in a folder removes only remains of interrupted writes", async (t) => {
  const folder = await createTemporaryFolder(t);
  for (const name of ["kept.json.0123456789ab.svc-tmp", "mine.txt", "mine.txt.0123456789ab.svc-tmp", "kept.json"])
    await writeFile(join(folder, name), "x");
  await openFileSnapshotStore({ folder });
  assert.deepEqual((await readdir(folder)).sort(), ["kept.json", "mine.txt", "mine.txt.0123456789ab.svc-tmp"]);
});
