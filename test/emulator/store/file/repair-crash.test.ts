import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { repairFile } from "../../../../emulator/store/file/recovery.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { crashDiskAt, createSeededRandom } from "../../../support/files/crashes.ts";
import { DiskCrashedError, ForgetfulDisk } from "../../../support/files/forgetful-disk.ts";
import { collections, createPerson, exportContent, owners, people } from "../../../support/store.ts";

const folder = "/data";
const path = `${folder}/emulator.json`;
const journal = `${path}.journal.2`;

/** Copies the disk without any loss. */
const copyDisk = (disk: ForgetfulDisk): ForgetfulDisk => disk.crash(() => 0);

async function readText(disk: ForgetfulDisk, file: string): Promise<string> {
  const handle = await disk.open(file);
  const bytes = new Uint8Array(await handle.size());
  await handle.read(bytes, 0);
  return Buffer.from(bytes).toString();
}

/**
 * Creates people 1 to 3 and two identifiers in the checkpoint and 4 to 6 in the journal, then overwrites part of a
 * file.
 */
async function createDamagedDisk(file: string, from: string, to: string): Promise<ForgetfulDisk> {
  let disk = new ForgetfulDisk();
  const first = await openFileStore({ path, collections, wall: systemWallClock, disk });
  await first.transaction("seed", (tx) => {
    for (const id of [1, 2, 3]) tx.put(people, createPerson(id));
    tx.map(owners, "eu-1", ["a", "b"]);
  });
  await first.close();
  const second = await openFileStore({ path, collections, wall: systemWallClock, disk });
  for (const id of [4, 5, 6]) await second.transaction("more", (tx) => tx.put(people, createPerson(id)));
  disk = copyDisk(disk);
  const at = (await readText(disk, file)).indexOf(from);
  assert.ok(at > 0);
  const handle = await disk.open(file);
  await handle.write(Buffer.from(to), at);
  await handle.sync();
  return disk;
}

async function readContent(disk: ForgetfulDisk): Promise<unknown> {
  const store = await openFileStore({ path, collections, wall: systemWallClock, disk });
  const content = await exportContent(store);
  await store.close();
  return content;
}

describe("crash during a repair", () => {
  const damages: [label: string, file: string, from: string, to: string][] = [
    ["the state file", path, '{"id":2,', '{"id":2;'],
    ["a journal", journal, "p5", "q5"],
  ];
  for (const [label, file, from, to] of damages) {
    it(`permits a repeated repair of ${label} with the same result`, async () => {
      const before = await createDamagedDisk(file, from, to);
      const bad = await readText(before, file);
      const completeDisk = copyDisk(before);
      let steps = 0;
      completeDisk.beforeStep = () => {
        steps += 1;
      };
      assert.equal((await repairFile({ path, collections, disk: completeDisk })).repaired, true);
      completeDisk.beforeStep = () => {};
      const expected = await readContent(completeDisk);
      assert.ok(steps > 5, `only ${steps} steps`);

      for (let at = 0; at < steps; at += 1) {
        const chances = [() => 0, () => 0.99, ...Array.from({ length: 8 }, (_, seed) => createSeededRandom(seed))];
        for (const [number, chance] of chances.entries()) {
          const location = `dead before step ${at}, chance ${number}`;
          const disk = copyDisk(before);
          crashDiskAt(disk, at);
          await assert.rejects(repairFile({ path, collections, disk }), DiskCrashedError, location);
          const crashedDisk = disk.crash(chance);
          await repairFile({ path, collections, disk: crashedDisk });
          const names = (await crashedDisk.list(folder)).map((name) => `${folder}/${name}`);
          const texts = await Promise.all(names.map((name) => readText(crashedDisk, name)));
          assert.ok(texts.includes(bad), `${location}: the damaged bytes are gone, of ${names.join(" ")}`);
          assert.deepEqual(await readContent(crashedDisk), expected, location);
        }
      }
    });
  }
});
