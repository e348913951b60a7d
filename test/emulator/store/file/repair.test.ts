import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { repairFile } from "../../../../emulator/store/file/recovery.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { collections, createPerson, createTemporaryFolder, owners, people } from "../../../support/store.ts";

const open = (path: string): Promise<Store> => openFileStore({ path, collections, wall: systemWallClock });

/** Creates a checkpoint with people 1 to 3 and two identifiers, and a journal that adds 4, 5 and 6. */
async function createState(t: TestContext): Promise<{ folder: string; path: string; journal: string }> {
  const folder = await createTemporaryFolder(t);
  const path = join(folder, "emulator.json");
  const first = await open(path);
  await first.transaction("seed", (tx) => {
    for (const id of [1, 2, 3]) tx.put(people, createPerson(id));
    tx.map(owners, "eu-1", ["a", "b"]);
  });
  await first.close();
  const second = await open(path);
  for (const id of [4, 5, 6]) await second.transaction("more", (tx) => tx.put(people, createPerson(id)));
  // A close would compact the journal. The test copies the files instead, as a crash leaves them.
  const crashed = await createTemporaryFolder(t);
  for (const name of await readdir(folder)) await writeFile(join(crashed, name), await readFile(join(folder, name)));
  await second.close();
  return { folder: crashed, path: join(crashed, "emulator.json"), journal: join(crashed, "emulator.json.journal.2") };
}

async function damage(file: string, from: string, to: string): Promise<string> {
  const text = await readFile(file, "utf8");
  assert.ok(text.includes(from));
  await writeFile(file, text.replace(from, to));
  return text.replace(from, to);
}

async function readPeople(path: string): Promise<{ ids: number[]; owned: number }> {
  const store = await open(path);
  const contents = { ids: store.list(people).map((row) => row.id), owned: store.size(owners) };
  await store.close();
  return contents;
}

describe("repair of a state file", () => {
  it("changes nothing in an undamaged file", async (t) => {
    const { folder, path } = await createState(t);
    const before = await readdir(folder);
    assert.deepEqual(await repairFile({ path, collections }), {
      repaired: false,
      damage: [],
      retained: { rows: 6, mappings: 2, transactions: 3 },
      dropped: [],
      renamed: [],
    });
    assert.deepEqual(await readdir(folder), before);
  });

  it("retains the rows before a damaged line and the contents of the journal", async (t) => {
    const { path } = await createState(t);
    const damagedText = await damage(path, '{"id":2,', '{"id":2;');
    assert.deepEqual(await repairFile({ path, collections }), {
      repaired: true,
      damage: [`${path}, line 15: the line is damaged`],
      retained: { rows: 4, mappings: 0, transactions: 3 },
      dropped: [],
      renamed: [`${path}.damaged`],
    });
    assert.equal(await readFile(`${path}.damaged`, "utf8"), damagedText);
    assert.deepEqual(await readPeople(path), { ids: [1, 4, 5, 6], owned: 0 });
  });

  it("retains all readable data if only the checksum is wrong", async (t) => {
    const { path } = await createState(t);
    await damage(path, '"name":"p2"', '"name":"by hand"');
    const { repaired, retained } = await repairFile({ path, collections });
    assert.deepEqual({ repaired, retained }, { repaired: true, retained: { rows: 6, mappings: 2, transactions: 3 } });
    assert.deepEqual(await readPeople(path), { ids: [1, 2, 3, 4, 5, 6], owned: 2 });
  });

  it("retains the transactions before a damaged journal line, and keeps the damaged file", async (t) => {
    const { folder, path, journal } = await createState(t);
    await writeFile(`${journal}.damaged`, "of an earlier repair");
    const damagedText = await damage(journal, "p5", "q5");
    assert.deepEqual(await repairFile({ path, collections }), {
      repaired: true,
      damage: [`${journal}, line 3: the checksum of the line does not match`],
      retained: { rows: 4, mappings: 2, transactions: 1 },
      dropped: [],
      renamed: [`${journal}.damaged-2`],
    });
    assert.equal(await readFile(`${journal}.damaged-2`, "utf8"), damagedText);
    assert.deepEqual(await readPeople(path), { ids: [1, 2, 3, 4], owned: 2 });
    assert.deepEqual(await readdir(folder), [
      "emulator.json",
      "emulator.json.journal.2.damaged",
      "emulator.json.journal.2.damaged-2",
    ]);
  });

  it("rejects a missing file and another version", async (t) => {
    const { path } = await createState(t);
    await assert.rejects(repairFile({ path: `${path}.other`, collections }), /not found/);
    await damage(path, '"svc_state": 1', '"svc_state": 4');
    await assert.rejects(repairFile({ path, collections }), /svc 0\.1\.0 wrote it in format 4/);
  });
});
