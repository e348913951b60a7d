import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { repairState, startEmulator } from "../../../../emulator/index.ts";
import { openFileBlobs } from "../../../../emulator/store/file/blob-collection.ts";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { ManualWallClock, waitForIdle } from "../../../support/clocks/manual-wall-clock.ts";
import { startTestEmulator } from "../../../support/emulator.ts";
import { mountSmallDisk } from "../../../support/files/small-disk.ts";
import {
  collections,
  createGatedDisk,
  createPerson,
  createTemporaryFolder,
  type DiskCall,
  exportContent,
  people,
  resetStore,
} from "../../../support/store.ts";

const putPerson = (store: Store, id: number, name = `p${id}`) =>
  store.transaction("put", (tx) => tx.put(people, createPerson(id, { name })));
const listIds = (store: Store) => store.list(people).map((row) => row.id);

/** Advances the wall clock until the store writes again. */
async function waitUntilWritable(store: Store, wall: ManualWallClock): Promise<void> {
  while (!store.writable) {
    await waitForIdle();
    await wall.pass(10_000);
  }
}

describe("file store on a temporarily failing disk", () => {
  const failures: [label: string, broken: readonly DiskCall[], answer: () => unknown][] = [
    ["was full", ["write"], () => 17],
    ["failed fdatasync", ["datasync", "sync"], () => Promise.reject(new Error("input/output error"))],
    [
      "failed every write",
      ["write", "datasync", "sync", "create", "truncate"],
      () => Promise.reject(new Error("gone")),
    ],
  ];
  for (const [label, calls, createError] of failures) {
    it(`resumes with all acknowledged data after the disk ${label}`, async (t) => {
      const folder = await createTemporaryFolder(t);
      const path = join(folder, "emulator.json");
      const wall = new ManualWallClock();
      const reports: string[] = [];
      let broken = false;
      const disk = createGatedDisk((call) => (broken && calls.includes(call) ? createError() : null));
      const store = await openFileStore({ path, collections, wall, disk, report: (text) => reports.push(text) });
      await putPerson(store, 1);
      broken = true;
      await assert.rejects(putPerson(store, 2), {
        name: "StoreFailedError",
        message: /emulator\.json cannot be written: /,
      });
      await assert.rejects(putPerson(store, 3), { name: "StoreFailedError" });
      await assert.rejects(
        resetStore(store, () => {}),
        { name: "StoreFailedError" },
      );
      assert.equal(store.writable, false);
      assert.deepEqual(await listIds(store), [1]);
      broken = false;
      await waitUntilWritable(store, wall);
      await putPerson(store, 4);
      const before = await exportContent(store);
      const crashed = await openFileStore({ path: await copyOf(t, folder), collections, wall: systemWallClock });
      assert.deepEqual(await listIds(crashed), [1, 4]);
      await crashed.close();
      await store.close();
      assert.deepEqual(
        reports.map((text) => text.slice(path.length)).map((text) => text.split(":")[0]),
        [" cannot be written", " can be written again"],
      );
      const reopenedStore = await openFileStore({ path, collections, wall: systemWallClock });
      assert.deepEqual(await exportContent(reopenedStore), before);
      await reopenedStore.close();
    });
  }

  async function openOnFullDisk(t: TestContext) {
    const path = join(await createTemporaryFolder(t), "emulator.json");
    const wall = new ManualWallClock();
    const reports: string[] = [];
    let isFull = false;
    const disk = createGatedDisk((call) => (isFull && call === "write" ? 17 : null));
    const store = await openFileStore({ path, collections, wall, disk, report: (text) => reports.push(text) });
    await putPerson(store, 1);
    isFull = true;
    await assert.rejects(putPerson(store, 2));
    const freeSpace = () => {
      isFull = false;
    };
    return { path, journal: `${path}.journal.1`, wall, store, reports, freeSpace };
  }

  it("is rewritten if a user removes its files meanwhile", async (t) => {
    const { path, journal, wall, store, reports, freeSpace } = await openOnFullDisk(t);
    await rm(path);
    await rm(journal);
    freeSpace();
    await waitUntilWritable(store, wall);
    await putPerson(store, 3);
    await store.close();
    const lost = "Snapshots, uploads and history next to it are lost";
    assert.deepEqual(reports.slice(1), [`${path} was removed. It is rewritten from memory. ${lost}`]);
    const reopenedStore = await openFileStore({ path, collections, wall: systemWallClock });
    assert.deepEqual(await listIds(reopenedStore), [1, 3]);
    await reopenedStore.close();
  });

  it("does not write to a journal that a user cuts meanwhile, until it is moved away", async (t) => {
    const { path, journal, wall, store, freeSpace } = await openOnFullDisk(t);
    await truncate(journal, (await stat(journal)).size - 20);
    const cutJournal = await readFile(journal);
    freeSpace();
    const waitForRetry = async () => {
      while (!store.writable && wall.sleeping.length === 0) await waitForIdle();
    };
    await waitForRetry();
    await wall.pass(10_000);
    await waitForRetry();
    assert.deepEqual([store.writable, await readFile(journal)], [false, cutJournal]);
    await rename(journal, `${path}.theirs`);
    await waitUntilWritable(store, wall);
    await putPerson(store, 3);
    assert.deepEqual(await listIds(store), [1, 3]);
    await store.close();
  });

  it("closes in time while the disk fails", async (t) => {
    const path = join(await createTemporaryFolder(t), "emulator.json");
    let broken = false;
    const disk = createGatedDisk((call) => (broken && call !== "remove" ? Promise.reject(new Error("gone")) : null));
    const store = await openFileStore({ path, collections, wall: new ManualWallClock(), disk });
    broken = true;
    await assert.rejects(putPerson(store, 1));
    await waitForIdle();
    await store.close();
  });
});

async function copyOf(t: TestContext, folder: string): Promise<string> {
  const copy = await createTemporaryFolder(t);
  execFileSync("cp", ["-r", `${folder}/.`, copy]);
  return join(copy, "emulator.json");
}

describe("full disk", () => {
  it("is reported, rejects uploads, and is written again once space is available", async (t) => {
    const folder = await mountSmallDisk(t);
    if (folder === undefined) return t.skip("no small disk can be mounted here");
    const wall = new ManualWallClock();
    const reports: string[] = [];
    const path = join(folder, "emulator.json");
    const store = await openFileStore({ path, collections, wall, report: (text) => reports.push(text) });
    const blobs = await openFileBlobs({ folder: join(folder, "files") });
    await putPerson(store, 1);
    await writeFile(join(folder, "other"), Buffer.alloc(2_000_000)).catch(() => {});
    await assert.rejects(putPerson(store, 2, "n".repeat(20_000)), {
      name: "StoreFailedError",
      message: /no space left/,
    });
    await assert.rejects(blobs.put(streamBytes(100_000), 200_000), {
      name: "StoreFailedError",
      message: /no space is left/,
    });
    assert.equal(store.writable, false);
    await rm(join(folder, "other"));
    await waitUntilWritable(store, wall);
    await putPerson(store, 3);
    assert.equal((await blobs.put(streamBytes(100_000), 200_000)).size, 100_000);
    assert.equal(reports.length, 2);
    await store.close();
    const reopenedStore = await openFileStore({ path, collections, wall: systemWallClock });
    assert.deepEqual(await listIds(reopenedStore), [1, 3]);
    await reopenedStore.close();
  });

  it("is reported in one sentence by repair", async (t) => {
    const folder = await mountSmallDisk(t);
    if (folder === undefined) return t.skip("no small disk can be mounted here");
    const file = join(folder, "emulator.json");
    await (await startEmulator({ file })).close();
    execFileSync("mount", ["-o", "remount,ro", folder]);
    await assert.rejects(repairState(file), {
      name: "StateAccessError",
      message: /^The state .*emulator\.json cannot be opened: the file system is read-only.* Choose another file/,
    });
    await assert.rejects(startEmulator({ file }), {
      name: "StateAccessError",
      message: /the file system is read-only/,
    });
  });

  it("causes uploads to fail as declared until space is available", async (t) => {
    const folder = await mountSmallDisk(t);
    if (folder === undefined) return t.skip("no small disk can be mounted here");
    const emulator = await startTestEmulator(t, { file: join(folder, "emulator.json") });
    const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
    const { body } = await emulator.api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const [{ upload_url: url }] = (body as { files: [{ upload_url: string }] }).files;
    const upload = () =>
      fetch(url, { method: "PUT", body: Buffer.alloc(100_000), headers: { "content-type": "application/pdf" } });
    await writeFile(join(folder, "other"), Buffer.alloc(2_000_000)).catch(() => {});
    const response = await upload();
    assert.deepEqual([response.status, /no space left/.test(await response.text())], [503, false]);
    await rm(join(folder, "other"));
    assert.equal((await upload()).status, 200);
  });

  it("prevents a start, with an error message", async (t) => {
    const folder = await mountSmallDisk(t);
    if (folder === undefined) return t.skip("no small disk can be mounted here");
    await writeFile(join(folder, "other"), Buffer.alloc(2_000_000)).catch(() => {});
    await assert.rejects(startEmulator({ file: join(folder, "emulator.json") }), {
      name: "StateAccessError",
      message:
        /^The state .*emulator\.json cannot be opened: no space is left on the disk.* Free disk space, or choose a file/,
    });
  });
});

async function* streamBytes(count: number): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(count);
}

describe("invalid path of a state", () => {
  it("is reported if it is a folder", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    await mkdir(file);
    await assert.rejects(startEmulator({ file }), {
      name: "StateAccessError",
      message: `The state ${file} cannot be opened: it is a folder. Choose a file with the option file.`,
    });
  });

  it("is reported if it contains a file instead of a folder", async (t) => {
    const folder = await createTemporaryFolder(t);
    await writeFile(join(folder, "a"), "");
    await assert.rejects(startEmulator({ file: join(folder, "a", "emulator.json") }), {
      name: "StateAccessError",
      message: /cannot be opened: a part of its path is not a folder\. Choose a file in a folder with the option file/,
    });
  });
});
