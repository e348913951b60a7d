import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { type Disk, type DiskFile, systemDisk } from "../../../../src/files/disk.ts";
import {
  collections,
  createGatedDisk,
  createPerson,
  createTemporaryFolder,
  exportContent,
  people,
  resetStore,
} from "../../../support/store.ts";

const open = (folder: string, disk?: Disk, rest: { compactAfterBytes?: number; report?(text: string): void } = {}) =>
  openFileStore({
    path: join(folder, "emulator.json"),
    collections,
    wall: systemWallClock,
    ...(disk && { disk }),
    ...rest,
  });

const putPerson = (store: Store, id: number) =>
  store.transaction(`put ${id}`, (tx) => tx.put(people, createPerson(id)));

/** Records the operations on the disk with file names. The random part of a temporary name is removed. */
function createRecordingDisk(folder: string) {
  const calls: string[] = [];
  const disk = createGatedDisk((call, path) => {
    const name = path.slice(folder.length + 1).replace(/[0-9a-f]{12}\.svc-tmp$/, "tmp");
    calls.push(`${call} ${name}`);
  });
  return { calls, disk };
}

/** Merges consecutive writes to the same file. */
const omitRepeatedCalls = (calls: readonly string[]): string[] => calls.filter((call, i) => call !== calls[i - 1]);

async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

describe("disk write order", () => {
  it("removes the old journal only after the new state is durable", async (t) => {
    const folder = await createTemporaryFolder(t);
    const { calls, disk } = createRecordingDisk(folder);
    const store = await open(folder, disk);
    await putPerson(store, 1);
    calls.length = 0;
    await resetStore(store, (tx) => tx.put(people, createPerson(9)));
    assert.deepEqual(
      omitRepeatedCalls(calls.filter((call) => !/(write|datasync) emulator\.json\.journal\.1$/.test(call))),
      [
        "create emulator.json.journal.2",
        "write emulator.json.journal.2",
        "sync emulator.json.journal.2",
        "syncFolder ",
        "create emulator.json.tmp",
        "write emulator.json.tmp",
        "sync emulator.json.tmp",
        "rename emulator.json",
        "syncFolder ",
        "remove emulator.json.journal.1",
      ],
    );
    await store.close();
  });

  it("removes the journal at close only after the checkpoint is complete", async (t) => {
    const folder = await createTemporaryFolder(t);
    const { calls, disk } = createRecordingDisk(folder);
    const store = await open(folder, disk);
    await putPerson(store, 1);
    calls.length = 0;
    await store.close();
    assert.deepEqual(
      omitRepeatedCalls(calls.filter((call) => !/(write|datasync) emulator\.json\.journal\.1$/.test(call))),
      [
        "create emulator.json.journal.2",
        "write emulator.json.journal.2",
        "sync emulator.json.journal.2",
        "syncFolder ",
        "create emulator.json.tmp",
        "write emulator.json.tmp",
        "sync emulator.json.tmp",
        "rename emulator.json",
        "syncFolder ",
        "remove emulator.json.journal.1",
        "write emulator.json",
        "datasync emulator.json",
        "remove emulator.json.journal.2",
      ],
    );
    assert.deepEqual(await readdir(folder), ["emulator.json"]);
  });

  it("groups commits of one event loop turn into one write", async (t) => {
    const folder = await createTemporaryFolder(t);
    const { calls, disk } = createRecordingDisk(folder);
    const store = await open(folder, disk);
    calls.length = 0;
    const commits: Promise<unknown>[] = [];
    for (const id of [1, 2, 3]) {
      commits.push(putPerson(store, id));
      await new Promise((resolve) => process.nextTick(resolve));
    }
    await Promise.all(commits);
    assert.deepEqual(calls, ["write emulator.json.journal.1", "datasync emulator.json.journal.1"]);
    await store.close();
  });

  it("writes a new state after earlier commits, and fails with them", async (t) => {
    const folder = await createTemporaryFolder(t);
    const calls: string[] = [];
    let held: Promise<never> | undefined;
    let failed = false;
    const disk = createGatedDisk((call) => {
      calls.push(call);
      // The store cannot recover without new files.
      if (call === "create" && failed) throw new Error("input/output error");
      return call === "datasync" ? held : undefined;
    });
    const store = await open(folder, disk);
    await putPerson(store, 1);
    const before = await exportContent(store);
    let fail: (error: Error) => void = () => {};
    held = new Promise((_, reject) => {
      fail = reject;
    });
    calls.length = 0;
    const settled = Promise.allSettled([
      putPerson(store, 2),
      resetStore(store, (tx) => tx.put(people, createPerson(9))),
    ]);
    await waitUntil(() => calls.includes("datasync"));
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(calls, ["write", "datasync"]);
    failed = true;
    fail(new Error("input/output error"));
    const reasons = (await settled).map((one) => one.status === "rejected" && one.reason.name);
    assert.deepEqual(reasons, ["StoreFailedError", "StoreFailedError"]);
    assert.deepEqual(await exportContent(store), before);
    await store.close();
    held = undefined;
    const reopenedStore = await open(folder);
    assert.deepEqual(await exportContent(reopenedStore), before);
    await reopenedStore.close();
  });
});

describe("file with a failed write", () => {
  it("is closed and removed", async (t) => {
    const folder = await createTemporaryFolder(t);
    const openFiles = new Set<string>();
    let full = false;
    /** Records the open files. New files cannot be written while the disk is full. */
    const watchedFile = (file: DiskFile, path: string): DiskFile => {
      openFiles.add(path);
      return {
        ...file,
        write: (bytes, position) =>
          full && !path.endsWith("journal.1") ? Promise.reject(new Error("disk full")) : file.write(bytes, position),
        close: async () => {
          openFiles.delete(path);
          await file.close();
        },
      };
    };
    const disk: Disk = {
      ...systemDisk,
      create: async (path) => watchedFile(await systemDisk.create(path), path),
      open: async (path, access) => watchedFile(await systemDisk.open(path, access), path),
    };
    const store = await open(folder, disk, { report: () => {} });
    await putPerson(store, 1);
    const [before, files] = [[...openFiles], await readdir(folder)];
    full = true;
    await assert.rejects(
      resetStore(store, () => {}),
      { name: "StoreFailedError", message: /cannot be replaced: disk full/ },
    );
    assert.deepEqual([[...openFiles], await readdir(folder)], [before, files]);
    full = false;
    await store.close();
    assert.deepEqual([[...openFiles], await readdir(folder)], [[], ["emulator.json"]]);
  });
});
