import assert from "node:assert/strict";
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { type Disk, systemDisk } from "../../../../src/files/disk.ts";
import {
  collections,
  createGatedDisk,
  createPerson,
  createTemporaryFolder,
  type DiskCall,
  exportContent,
  owners,
  people,
  resetStore,
} from "../../../support/store.ts";

const open = (folder: string, disk?: Disk, rest: Partial<Parameters<typeof openFileStore>[0]> = {}) =>
  openFileStore({
    path: join(folder, "emulator.json"),
    collections,
    wall: systemWallClock,
    ...(disk && { disk }),
    ...rest,
  });

async function reopenAndExport(folder: string): Promise<unknown> {
  const store = await open(folder);
  const content = await exportContent(store);
  await store.close();
  return content;
}

const putPerson = (store: Store, id: number) =>
  store.transaction(`put ${id}`, (tx) => tx.put(people, createPerson(id)));

describe("file store on a failing disk", () => {
  const failures: [label: string, call: DiskCall, answer: () => unknown][] = [
    ["is full", "write", () => 17],
    ["fails writes", "write", () => Promise.reject(new Error("input/output error"))],
    ["fails fdatasync", "datasync", () => Promise.reject(new Error("input/output error"))],
  ];
  for (const [label, failing, createError] of failures) {
    it(`rolls back unsaved transactions and serves reads if the disk ${label}`, async (t) => {
      const folder = await createTemporaryFolder(t);
      let broken = false;
      const disk = createGatedDisk((call, path) =>
        broken && call === failing && path.includes("journal") ? createError() : null,
      );
      const store = await open(folder, disk);
      await putPerson(store, 1);
      await store.transaction("map", (tx) => tx.map(owners, "eu-1", ["a"]));
      const good = await exportContent(store);
      broken = true;
      const notifications: string[] = [];
      store.watch([people], () => notifications.push("people"));
      const waiting = [
        putPerson(store, 2),
        store.transaction("map", (tx) => tx.map(owners, "us-1", ["a", "b"])),
        putPerson(store, 1),
      ];
      for (const settled of await Promise.allSettled(waiting)) {
        assert.equal(settled.status, "rejected");
        assert.equal(settled.reason.name, "StoreFailedError");
        assert.match(settled.reason.message, /emulator\.json cannot be written: /);
      }
      assert.equal(store.writable, false);
      assert.deepEqual(await exportContent(store), good);
      broken = false;
      await assert.rejects(putPerson(store, 3), { name: "StoreFailedError" });
      await assert.rejects(
        resetStore(store, () => {}),
        { name: "StoreFailedError" },
      );
      assert.deepEqual(notifications, []);
      await store.close();
      assert.deepEqual(await reopenAndExport(folder), good);
    });
  }

  it("loses nothing if only the compaction fails, and compacts later", async (t) => {
    const folder = await createTemporaryFolder(t);
    let broken = true;
    const reports: string[] = [];
    const disk = createGatedDisk((call, path) =>
      broken && call === "write" && path.endsWith(".svc-tmp") ? Promise.reject(new Error("no space left")) : null,
    );
    broken = false;
    const store = await open(folder, disk, { compactAfterBytes: 500, report: (text) => reports.push(text) });
    broken = true;
    for (let id = 1; id <= 40; id += 1) await putPerson(store, id);
    assert.equal(store.writable, true);
    assert.match(reports[0] ?? "", /could not be compacted. Its journal remains: no space left/);
    const crashed = await exportContent(store);
    broken = false;
    await store.close();
    assert.deepEqual(await readdir(folder), ["emulator.json"]);
    assert.deepEqual(await reopenAndExport(folder), crashed);
  });

  it("never adds data to a snapshot before it is durable in the journal", async (t) => {
    const folder = await createTemporaryFolder(t);
    let held: Promise<never> | undefined;
    let writesLeft = Number.POSITIVE_INFINITY;
    let written = () => {};
    let failed = false;
    const calls: string[] = [];
    const disk = createGatedDisk((call, path) => {
      calls.push(`${call} ${path.endsWith(".svc-tmp") ? "snapshot" : path.slice(folder.length + 1)}`);
      if (call === "write" && path.endsWith(".svc-tmp") && --writesLeft === 0) written();
      // The store cannot recover without new files, which would write a correct checkpoint.
      if (call === "create" && failed) throw new Error("input/output error");
      return call === "datasync" ? held : null;
    });
    const long = (store: Store) =>
      store.transaction("long", (tx) => tx.put(people, createPerson(9, { name: "n".repeat(1_000) })));
    const first = await open(folder, disk);
    await long(first);
    calls.length = 0;
    await first.close();
    const snapshotWrites = calls.filter((each) => each === "write snapshot").length;

    const second = await open(folder, disk, { compactAfterBytes: 1 });
    // Two rows make the journal larger than the checkpoint, so the next write starts a compaction.
    await long(second);
    await long(second);
    let fail: (error: Error) => void = () => {};
    held = new Promise((_, reject) => {
      fail = reject;
    });
    writesLeft = snapshotWrites;
    const journalComplete = new Promise<void>((resolve) => {
      written = resolve;
    });
    const waiting = putPerson(second, 1);
    await journalComplete;
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    calls.length = 0;
    failed = true;
    fail(new Error("input/output error"));
    await assert.rejects(waiting, { name: "StoreFailedError" });
    await second.close();
    assert.deepEqual(
      calls.filter((each) => /sync snapshot|rename/.test(each)),
      [],
    );
    held = undefined;
    const third = await open(folder);
    assert.equal(third.get(people, 1), undefined);
    await third.close();
  });

  it("does not open while the folder of its history cannot be listed, because it would lose the history", async (t) => {
    const folder = await createTemporaryFolder(t);
    const disk: Disk = {
      ...systemDisk,
      list: () => Promise.reject(Object.assign(new Error("input/output error"), { code: "EIO" })),
    };
    const store = await open(folder);
    await store.close();
    await assert.rejects(open(folder, disk, { historyBytes: 2 ** 20 }), { code: "EIO" });
  });

  it("preserves the old state if the new one cannot be written", async (t) => {
    const folder = await createTemporaryFolder(t);
    let failing: DiskCall | undefined;
    const disk = createGatedDisk((call, path) =>
      call === failing && /\.(json|svc-tmp)$/.test(path) ? Promise.reject(new Error("no space left")) : null,
    );
    const reports: string[] = [];
    const store = await open(folder, disk, { historyBytes: 2 ** 20, report: (text) => reports.push(text) });
    await putPerson(store, 1);
    const before = await exportContent(store);
    for (failing of ["write", "rename"] as const) {
      await assert.rejects(
        resetStore(store, (tx) => tx.put(people, createPerson(9))),
        { name: "StoreFailedError", message: /cannot be replaced: no space left/ },
      );
      assert.deepEqual(await exportContent(store), before);
    }
    failing = undefined;
    await resetStore(store, (tx) => tx.put(people, createPerson(9)));
    assert.deepEqual(reports, []);
    await putPerson(store, 2);
    const after = await exportContent(store);
    await store.close();
    assert.deepEqual(await reopenAndExport(folder), after);
  });

  it("writes the old state again if the new one is in place but may not be durable", async (t) => {
    const folder = await createTemporaryFolder(t);
    let isReplaced = false;
    let broken = false;
    const disk = createGatedDisk((call, path) => {
      isReplaced ||= broken && call === "rename" && path.endsWith("emulator.json");
      if (isReplaced && broken && call === "syncFolder") throw new Error("input/output error");
    });
    const store = await open(folder, disk);
    await putPerson(store, 1);
    broken = true;
    await assert.rejects(
      resetStore(store, (tx) => tx.put(people, createPerson(9))),
      { name: "StoreFailedError", message: /cannot be replaced: input\/output error/ },
    );
    await assert.rejects(putPerson(store, 2), { name: "StoreFailedError" });
    const writable = new Promise<void>((resolve) => {
      store.watch([], (change) => change === "writable" && resolve());
    });
    broken = false;
    await writable;
    await putPerson(store, 3);
    const after = await exportContent(store);
    const crashed = await createTemporaryFolder(t);
    await cp(folder, crashed, { recursive: true });
    await store.close();
    assert.deepEqual(await reopenAndExport(crashed), after);
  });

  it("stores the new state if the last line of the old journal cannot be written", async (t) => {
    const folder = await createTemporaryFolder(t);
    let journal = "";
    let isBroken = false;
    const disk = createGatedDisk((call, path) => {
      if (call !== "write" || !path.includes("journal")) return;
      if (!isBroken) journal = path;
      else if (path === journal) throw new Error("input/output error");
    });
    const store = await open(folder, disk);
    await putPerson(store, 1);
    const writable = new Promise<void>((resolve) => {
      store.watch([], (change) => change === "writable" && resolve());
    });
    isBroken = true;
    await resetStore(store, (tx) => tx.put(people, createPerson(9)));
    await writable;
    const after = await exportContent(store);
    assert.deepEqual(after.rows.people, [createPerson(9)]);
    const crashed = await createTemporaryFolder(t);
    await cp(folder, crashed, { recursive: true });
    await store.close();
    assert.deepEqual(await reopenAndExport(crashed), after);
  });
});

describe("crash of a file store", () => {
  /** Operations before the crash. Each acknowledged state is recorded. */
  const lives: [label: string, live: (store: Store, acknowledgedContents: unknown[]) => Promise<void>][] = [
    [
      "between any two steps of compactions and of the close",
      async (store, acknowledgedContents) => {
        for (let id = 1; id <= 7; id += 1) {
          await putPerson(store, id);
          acknowledgedContents.push(await exportContent(store));
        }
        await store.close();
      },
    ],
    [
      "between any two steps of a reset",
      async (store, acknowledgedContents) => {
        await putPerson(store, 1);
        acknowledgedContents.push(await exportContent(store));
        await resetStore(store, (tx) => tx.put(people, createPerson(50)));
        acknowledgedContents.push(await exportContent(store));
        await putPerson(store, 2);
        acknowledgedContents.push(await exportContent(store));
      },
    ],
  ];
  for (const [label, live] of lives) {
    it(`leaves a readable file with every acknowledged write ${label}`, async (t) => {
      let crashes = 0;
      for (let at = 0; crashes === at; at += 16) {
        const crashChecks = Array.from({ length: 16 }, (_, i) => checkCrashAt(t, at + i, live));
        crashes += (await Promise.all(crashChecks)).filter((crashed) => crashed).length;
      }
      assert.ok(crashes > 20, `only ${crashes} places to crash at`);
    });
  }
});

/**
 * Makes the disk fail before its n-th change, then opens the result. Returns false if the operations ended before that.
 */
async function checkCrashAt(
  t: TestContext,
  at: number,
  live: (store: Store, acknowledgedContents: unknown[]) => Promise<void>,
): Promise<boolean> {
  const folder = await createTemporaryFolder(t);
  let calls = 0;
  const disk = createGatedDisk((call) => {
    calls += 1;
    if (calls > at + 1) throw new Error("crashed");
    // The failing call can be partially complete.
    if (calls === at + 1) return call === "write" ? 9 : Promise.reject(new Error("crashed"));
    return null;
  });
  const acknowledgedContents: unknown[] = [];
  let store: Store | undefined;
  try {
    store = await open(folder, disk, { compactAfterBytes: 300 });
    await live(store, acknowledgedContents);
  } catch (error) {
    assert.match(String(error), /crashed|no space left/);
  }
  await store?.close().catch(() => {});
  const recovered = await reopenAndExport(folder);
  const last = acknowledgedContents.at(-1);
  // An unacknowledged operation can be present completely or not at all.
  const rest = findMissingIds(last, recovered);
  assert.deepEqual(rest, [], `crash at change ${at}: found ${JSON.stringify(recovered)}`);
  return calls > at;
}

interface Content {
  readonly rows: { readonly people: readonly { readonly id: number }[] };
}

/** Returns the acknowledged IDs that are missing. A running reset can have removed all of them. */
function findMissingIds(acknowledgedContents: unknown, rows: unknown): number[] {
  if (acknowledgedContents === undefined) return [];
  const has = new Set((rows as Content).rows.people.map((row) => row.id));
  const should = (acknowledgedContents as Content).rows.people.map((row) => row.id);
  if (has.has(50) && !should.includes(50)) return has.size === 1 ? [] : [50];
  return should.filter((id) => !has.has(id));
}
