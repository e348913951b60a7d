import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { repairFile } from "../../../../emulator/store/file/recovery.ts";
import type { Collection, Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { createTemporaryFolder } from "../../../support/store.ts";
import {
  members,
  membersWithoutMigration,
  owners,
  secondMembers,
  thirdMembers,
} from "../../../support/versioned-rows.ts";

const open = (folder: string, ...collections: Collection[]): Promise<Store> =>
  openFileStore({ path: join(folder, "emulator.json"), collections: [...collections, owners], wall: systemWallClock });

/**
 * Creates a state of the first version. Its checkpoint contains Ada and Bo. Its journal adds Cy, replaces Ada and
 * deletes Bo.
 */
async function createOldState(t: TestContext, end: "closed" | "killed"): Promise<string> {
  const folder = await createTemporaryFolder(t);
  const first = await open(folder, members);
  await first.transaction("seed", (tx) => {
    tx.put(members, { id: 1, name: "Ada Keller" });
    tx.put(members, { id: 2, name: "Bo Li" });
    tx.map(owners, "eu-1", ["a"]);
    tx.next("members");
  });
  await first.close();
  const store = await open(folder, members);
  await store.transaction("more", (tx) => {
    tx.put(members, { id: 3, name: "Cy Young" });
    tx.put(members, { id: 1, name: "Ada Lovelace" });
    tx.delete(members, 2);
  });
  if (end === "killed") {
    const copy = await copyFolder(t, folder);
    await store.close();
    return copy;
  }
  await store.close();
  return folder;
}

async function copyFolder(t: TestContext, folder: string): Promise<string> {
  const copy = await createTemporaryFolder(t);
  for (const [name, text] of Object.entries(await readFiles(folder))) await writeFile(join(copy, name), text);
  return copy;
}

async function readFiles(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

describe("state of an older version", () => {
  for (const ending of ["closed", "killed"] as const) {
    it(`opens with every row in the new form if it was ${ending}`, async (t) => {
      const folder = await createOldState(t, ending);
      const store = await open(folder, thirdMembers);
      const expected = [
        { id: 1, first_name: "Ada", grade: 1 },
        { id: 3, first_name: "Cy", grade: 1 },
      ];
      assert.deepEqual(store.list(thirdMembers, { by: "grade", equals: 1 }), expected);
      assert.equal(store.lookup(owners, "a"), "eu-1");
      assert.equal(await store.transaction("next", (tx) => tx.next("members")), 2);
      await store.close();
      const { written_by, collections, rows } = JSON.parse(await readFile(join(folder, "emulator.json"), "utf8"));
      assert.deepEqual(
        { written_by, collections, rows },
        { written_by: "0.1.0", collections: { members: 3, owners: 1 }, rows: { members: expected } },
      );
    });
  }

  it("is upgraded from its own version", async (t) => {
    const folder = await createOldState(t, "killed");
    await (await open(folder, secondMembers)).close();
    const store = await open(folder, thirdMembers);
    assert.deepEqual(store.get(thirdMembers, 3), { id: 3, first_name: "Cy", grade: 1 });
    await store.close();
  });
});

describe("row without a known version", () => {
  const words: [label: string, wrote: "closed" | "killed", collection: Collection, message: RegExp][] = [
    [
      "a new field without a migration",
      "closed",
      membersWithoutMigration,
      /line \d+: The value is not a row of members/,
    ],
    [
      "a new field without a migration in a journal",
      "killed",
      membersWithoutMigration,
      /is not a row of members: first_name/,
    ],
    ["a removed collection", "closed", owners, /svc 0\.1\.0 wrote it, with a collection members, which this/],
  ];
  for (const [label, wrote, collection, message] of words) {
    it(`is rejected as unsupported and not changed by a repair: ${label}`, async (t) => {
      const folder = await createOldState(t, wrote);
      const before = await readFiles(folder);
      const collections = collection === owners ? [owners] : [collection, owners];
      const path = join(folder, "emulator.json");
      await assert.rejects(openFileStore({ path, collections, wall: systemWallClock }), (error: Error) => {
        assert.equal(error.name, "StateFormatError");
        assert.match(error.message, message);
        assert.match(error.message, /Nothing was changed\. Use that version/);
        return true;
      });
      await assert.rejects(repairFile({ path, collections }), { name: "StateFormatError", message });
      assert.deepEqual(await readFiles(folder), before);
    });
  }
});

describe("state of a newer version", () => {
  it("is rejected with its version, and not changed by a repair", async (t) => {
    const folder = await createOldState(t, "killed");
    await (await open(folder, thirdMembers)).close();
    const before = await readFiles(folder);
    const message = /svc 0\.1\.0 wrote it, with version 3 of members; this version of svc reads versions up to 2/;
    await assert.rejects(open(folder, secondMembers), { name: "StateFormatError", message });
    const path = join(folder, "emulator.json");
    await assert.rejects(repairFile({ path, collections: [secondMembers, owners] }), {
      name: "StateFormatError",
      message,
    });
    assert.deepEqual(await readFiles(folder), before);
  });

  it("is also recognized by a newer format", async (t) => {
    const folder = await createOldState(t, "closed");
    const path = join(folder, "emulator.json");
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace('"svc_state": 1', '"svc_state": 7').replace('"0.1.0"', '"4.5.6"'));
    const message = /svc 4\.5\.6 wrote it in format 7, but this version reads format 1/;
    await assert.rejects(open(folder, members), { name: "StateFormatError", message });
    await assert.rejects(repairFile({ path, collections: [members, owners] }), { name: "StateFormatError", message });
  });
});
