import assert from "node:assert/strict";
import { copyFileSync, readdirSync } from "node:fs";
import { readdir, readFile, rename, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type FileStoreOptions, openFileStore } from "../../../../emulator/store/file/file-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { formatFirstLine, formatLogLine } from "../../../../src/files/log-line.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import {
  collections,
  createPerson,
  createTemporaryFolder,
  exportContent,
  importDocument,
  owners,
  people,
  resetStore,
} from "../../../support/store.ts";

type Rest = Partial<FileStoreOptions>;
const open = (folder: string, rest: Rest = {}): Promise<Store> =>
  openFileStore({ path: join(folder, "emulator.json"), collections, wall: systemWallClock, ...rest });

async function openSeededStore(
  t: TestContext,
  rest: Rest = {},
): Promise<{ folder: string; path: string; store: Store }> {
  const folder = await createTemporaryFolder(t);
  const store = await open(folder, rest);
  // Closing fails if the test has changed the files.
  addCleanup(t, () => store.close().catch(() => {}));
  await store.transaction("seed", (tx) => {
    for (const id of [1, 2, 3]) tx.put(people, createPerson(id, { age: 10 * id, tags: ["é", '"'] }));
    tx.map(owners, "eu-1", ["a", "b", 'q":"z']);
    tx.next("numbers");
  });
  await store.transaction("change", (tx) => {
    tx.delete(people, 2);
    tx.put(people, createPerson(1, { name: "other" }));
    tx.map(owners, "us-1", ["b"]);
    tx.unmap(owners, "eu-1", ["a"]);
  });
  return { folder, path: join(folder, "emulator.json"), store };
}

/** Opens a copy of the current files, which equals the files after a crash. */
async function reopenCopyAndExport(t: TestContext, folder: string): Promise<unknown> {
  const copy = await copyOf(t, folder);
  const store = await open(copy);
  const content = await exportContent(store);
  await store.close();
  return content;
}

async function copyOf(t: TestContext, folder: string): Promise<string> {
  const copy = await createTemporaryFolder(t);
  try {
    // The copy is synchronous, because a crash leaves the files of one moment and a compaction can be replacing them.
    for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
    return copy;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return copyOf(t, folder); // A running removal took effect between the listing and the copy.
  }
}

describe("state file", () => {
  it("contains all commits even if the process never closed it", async (t) => {
    const { folder, store } = await openSeededStore(t);
    assert.deepEqual(await readdir(folder), ["emulator.json", "emulator.json.journal.1"]);
    assert.deepEqual(await reopenCopyAndExport(t, folder), await exportContent(store));
  });

  it("retains its journal and aborts a running checkpoint if a close is slow", async (t) => {
    const folder = await createTemporaryFolder(t);
    const store = await open(folder, { compactAfterBytes: 20_000_000 });
    const name = "x".repeat(1_000_000);
    // The last transaction starts a checkpoint.
    for (let id = 1; id <= 21; id += 1)
      await store.transaction("put", (tx) => tx.put(people, createPerson(id, { name })));
    const content = await exportContent(store);
    await store.close();
    const names = (await readdir(folder)).sort();
    assert.deepEqual(names.slice(0, 2), ["emulator.json", "emulator.json.journal.1"]);
    // The new checkpoint created a second journal.
    assert.deepEqual(
      names.slice(2).filter((value) => !value.includes(".journal.")),
      [],
    );
    assert.deepEqual(await reopenCopyAndExport(t, folder), content);
  });

  it("is one document with one row per line after a close", async (t) => {
    const { folder, path, store } = await openSeededStore(t);
    await store.close();
    assert.deepEqual(await readdir(folder), ["emulator.json"]);
    const text = await readFile(path, "utf8");
    assert.deepEqual(text.split("\n").slice(10, 23), [
      '"sequences": {"numbers":1},',
      '"rows": {',
      '"people": [',
      '{"id":1,"name":"other","tags":[]},',
      '{"id":3,"name":"p3","tags":["é","\\""],"age":30}',
      "]",
      "},",
      '"mappings": {',
      '"owners": {',
      '"b":"us-1",',
      '"q\\":\\"z":"eu-1"',
      "}",
      "},",
    ]);
    assert.deepEqual(JSON.parse(text).rows.people.length, 2);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it("is unchanged after a close and a start", async (t) => {
    const { folder, store } = await openSeededStore(t);
    const before = await exportContent(store);
    await store.close();
    assert.deepEqual(await reopenCopyAndExport(t, folder), before);
  });

  it("can contain more rows and identifiers than fit in a slice or block", async (t) => {
    const { folder, store } = await openSeededStore(t);
    const names = Array.from({ length: 12_000 }, (_, i) => `identifier ${i} ${"x".repeat(i % 90)} ü`);
    await store.transaction("many", (tx) => {
      for (let id = 10; id < 9_000; id += 1) tx.put(people, createPerson(id, { tags: ["x".repeat(id % 70)] }));
      tx.map(owners, "a cluster with a long name", names);
    });
    const before = await exportContent(store);
    assert.deepEqual(await reopenCopyAndExport(t, folder), before);
    await store.close();
    assert.deepEqual(await reopenCopyAndExport(t, folder), before);
  });

  it("restores rows as they were written, even if they share objects", async (t) => {
    const { folder, store } = await openSeededStore(t);
    await store.transaction("of many kinds", (tx) => {
      tx.put(people, createPerson(10, { age: 1 }));
      tx.put(people, createPerson(11, { age: 1 }));
      tx.put(people, createPerson(12));
      tx.map(owners, "eu-1", ["c"]);
      tx.put(people, createPerson(13, { name: "p12", tags: ["x"] }));
      tx.put(people, { ...createPerson(14), age: undefined });
      tx.put(people, { ...createPerson(15), age: undefined });
      tx.put(people, createPerson(16, { age: 2 }));
      tx.delete(people, 11);
      tx.delete(people, 3);
      tx.unmap(owners, "eu-1", ["c"]);
      tx.put(people, createPerson(11, { age: 3 }));
      tx.put(people, createPerson(12));
      tx.put(people, createPerson(12, { tags: ["last"] }));
    });
    assert.deepEqual(await reopenCopyAndExport(t, folder), await exportContent(store));
  });

  it("accepts a new state that survives an immediate crash", async (t) => {
    const { folder, store } = await openSeededStore(t);
    await importDocument(store, { svc_state: 1, rows: { people: [createPerson(7)] } });
    await store.transaction("after", (tx) => tx.put(people, createPerson(8)));
    const expected = { sequences: {}, rows: { people: [createPerson(7), createPerson(8)] }, mappings: { owners: {} } };
    assert.deepEqual(await exportContent(store), expected);
    assert.deepEqual(await reopenCopyAndExport(t, folder), expected);
    await resetStore(store, (tx) => tx.put(people, createPerson(9)));
    assert.deepEqual(await reopenCopyAndExport(t, folder), { ...expected, rows: { people: [createPerson(9)] } });
  });

  it("is compacted during transactions, and preserves insertion order", async (t) => {
    const { folder, store } = await openSeededStore(t, { compactAfterBytes: 2_000 });
    const busy = (i: number) =>
      store.transaction("busy", (tx) => {
        tx.put(people, createPerson(100 + ((i * 7) % 90), { age: i, name: "n".repeat(i) }));
        if (i % 3 === 0) tx.delete(people, 100 + (i % 90));
        tx.map(owners, i % 2 ? "eu-1" : "us-1", [`k${i % 50}`]);
        if (i % 4 === 0) tx.unmap(owners, "us-1", [`k${i % 50}`]);
      });
    for (let wave = 0; wave < 40; wave += 1) {
      await Promise.all(Array.from({ length: 10 }, (_, i) => busy(wave * 10 + i)));
    }
    assert.deepEqual(await reopenCopyAndExport(t, folder), await exportContent(store));
    const generation = Math.max(
      ...(await readdir(folder)).map((name) => Number(/journal\.(\d+)$/.exec(name)?.[1] ?? 0)),
    );
    assert.ok(generation > 1, `no compaction has begun: generation ${generation}`);
  });
});

describe("torn last line", () => {
  it("is dropped wherever it was cut, without losing earlier lines", async (t) => {
    const { folder, store } = await openSeededStore(t);
    const before = await exportContent(store);
    const journal = join(folder, "emulator.json.journal.1");
    const start = (await stat(journal)).size;
    await store.transaction("last", (tx) => tx.delete(people, 3));
    const journalBytes = await readFile(journal);
    for (let end = start; end < journalBytes.byteLength; end += 1) {
      const copy = await copyOf(t, folder);
      await truncate(join(copy, "emulator.json.journal.1"), end);
      const torn = await open(copy);
      assert.deepEqual(await exportContent(torn), before, `cut at byte ${end}`);
      // The next line must not continue the torn line.
      await torn.transaction("next", (tx) => tx.put(people, createPerson(78)));
      assert.equal(
        JSON.stringify(await reopenCopyAndExport(t, copy)),
        JSON.stringify(await exportContent(torn)),
        `cut at ${end}`,
      );
      await torn.close();
    }
  });

  it("is dropped if it has a newline but missing bytes", async (t) => {
    const { folder, store } = await openSeededStore(t);
    const before = await exportContent(store);
    const journal = join(folder, "emulator.json.journal.1");
    const line = formatLogLine('[["delete","people","1"]]', { number: 3, group: 3, before: 0 }).bytes;
    await writeFile(journal, line.toString().replace("people", "peo\0le"), { flag: "a" });
    assert.deepEqual(await reopenCopyAndExport(t, folder), before);
  });
});

describe("damaged state file", () => {
  const damages: [label: string, file: string, damage: (text: string) => string, message: RegExp][] = [
    [
      "a changed character in a row",
      "emulator.json",
      (text) => text.replace("p1", "q1"),
      /emulator\.json, line \d+: the checksum/,
    ],
    ["a truncated checkpoint", "emulator.json", (text) => text.slice(0, -20), /emulator\.json, line \d+: the/],
    [
      "a checkpoint truncated within a row",
      "emulator.json",
      (text) => text.slice(0, text.indexOf("p2")),
      /emulator\.json, line 15: the line is damaged/,
    ],
    [
      "an invalid row",
      "emulator.json",
      (text) => text.replace('"id":3', '"id":"3"'),
      /line 16: The value is not a row of people: id/,
    ],
    ["an empty checkpoint", "emulator.json", () => "", /emulator\.json, line 1: the file ends too early/],
    ["an unrelated document", "emulator.json", () => "[1, 2]\n", /emulator\.json, line 1: the line is damaged/],
    [
      "an unknown collection",
      "emulator.json",
      (text) => text.replace('"people": [', '"robots": ['),
      /line 13: this version of svc has no collection robots/,
    ],
    [
      "a changed character in the middle of the journal",
      "emulator.json.journal.2",
      (text) => text.replace("p9", "q9"),
      /journal\.2, line 2: the checksum of the line/,
    ],
    [
      "a missing first line of the journal",
      "emulator.json.journal.2",
      (text) => text.slice(text.indexOf("\n") + 1),
      /journal\.2, line 1: this is not the first line/,
    ],
  ];
  for (const [label, file, damage, message] of damages) {
    it(`is rejected without changes, and the message names the remedy: ${label}`, async (t) => {
      const folder = await createTemporaryFolder(t);
      const first = await open(folder);
      await first.transaction("seed", (tx) => {
        for (const id of [1, 2, 3]) tx.put(people, createPerson(id));
      });
      await first.close();
      const second = await open(folder);
      addCleanup(t, () => second.close());
      await second.transaction("more", (tx) => tx.put(people, createPerson(9)));
      await second.transaction("more", (tx) => tx.put(people, createPerson(10)));
      const copy = await copyOf(t, folder);
      const text = await readFile(join(copy, file), "utf8");
      assert.notEqual(damage(text), text, "the damage must be one");
      await writeFile(join(copy, file), damage(text));
      const before = await readFiles(copy);
      await assert.rejects(open(copy), (error: Error) => {
        assert.equal(error.name, "StateFormatError");
        assert.match(error.message, message);
        assert.match(error.message, /Nothing was changed\. Run "svc emulator repair .*emulator\.json"/);
        return true;
      });
      assert.deepEqual(await readFiles(copy), before);
    });
  }

  it("is not reported as damaged if another version wrote it", async (t) => {
    const { folder, path, store } = await openSeededStore(t);
    await store.close();
    await writeFile(path, (await readFile(path, "utf8")).replace('"svc_state": 1', '"svc_state": 4'));
    await assert.rejects(open(folder), {
      name: "StateFormatError",
      message:
        /line 2: svc 0\.1\.0 wrote it in format 4, but this version reads format 1\. Nothing was changed\. Use that/,
    });
  });

  it("is never recreated if only its journal exists", async (t) => {
    const { folder } = await openSeededStore(t);
    const copy = await createTemporaryFolder(t);
    const journal = await readFile(join(folder, "emulator.json.journal.1"));
    await writeFile(join(copy, "emulator.json.journal.1"), journal);
    await assert.rejects(open(copy), /journal\.1, line 2: its state file is missing/);
    assert.deepEqual(await readdir(copy), ["emulator.json.journal.1"]);
  });

  it("is rejected if an intermediate journal is missing", async (t) => {
    const { folder, store } = await openSeededStore(t);
    await store.close();
    const first = formatFirstLine(JSON.stringify({ svc_journal: 1, generation: 9, after: 8 })).toString();
    const line = formatLogLine('[["delete","people","1"]]', { number: 9, group: 9, before: 0 }).bytes.toString();
    await writeFile(join(folder, "emulator.json.journal.9"), first + line);
    await assert.rejects(open(folder), /journal\.9, line 1: the previous journal \(generation 8\) is missing/);
  });
});

async function readFiles(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

describe("journal changed by a user while the store is open", () => {
  const changes: readonly [label: string, change: (journal: string, older: Buffer) => Promise<unknown>][] = [
    ["loses its newest lines", async (journal) => truncate(journal, (await stat(journal)).size - 20)],
    ["is overwritten by an older copy", (journal, older) => writeFile(journal, older)],
  ];
  for (const [label, change] of changes) {
    it(`is not written to if it ${label}, until it is moved away`, async (t) => {
      const { folder, path, store } = await openSeededStore(t);
      const journal = join(folder, "emulator.json.journal.1");
      const older = await readFile(journal);
      await store.transaction("more", (tx) => tx.put(people, createPerson(4)));
      await change(journal, older);
      const journalBytes = await readFile(journal);
      const message =
        `${journal} was changed by another program: it lost lines, or an older copy replaced it. Nothing is ` +
        "written to it. Move it away to restore it from memory, or stop the emulator to continue with the file as it is";
      await assert.rejects(
        store.transaction("lost", (tx) => tx.put(people, createPerson(5))),
        { name: "StoreFailedError", message },
      );
      await assert.rejects(
        store.transaction("lost", (tx) => tx.put(people, createPerson(5))),
        { name: "StoreFailedError", message },
      );
      assert.deepEqual(await readFile(journal), journalBytes);
      await rename(journal, join(folder, "theirs"));
      while (!store.writable) await new Promise((resolve) => setImmediate(resolve));
      await store.transaction("after", (tx) => tx.put(people, createPerson(6)));
      assert.deepEqual(await reopenCopyAndExport(t, folder), await exportContent(store));
      const ids = (await exportContent(store)).rows.people!.map((row) => Reflect.get(row, "id"));
      assert.deepEqual([ids, (await readFile(path)).length > 0], [[1, 3, 4, 6], true]);
    });
  }

  it("is detected if an older copy replaces the state file", async (t) => {
    const { path, store } = await openSeededStore(t);
    await store.check!();
    await writeFile(path, await readFile(path));
    await store.check!();
    await assert.rejects(
      store.transaction("lost", (tx) => tx.put(people, createPerson(5))),
      {
        name: "StoreFailedError",
        message: `${path} was replaced by another file. Move it away to restore it from memory`,
      },
    );
    await rename(path, `${path}.theirs`);
    while (!store.writable) await new Promise((resolve) => setImmediate(resolve));
  });
});
