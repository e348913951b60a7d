import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { collectBlobs } from "../../../../emulator/store/file/blob-collection.ts";
import { createMovedWallClock } from "../../../support/clocks/moved-wall-clock.ts";
import { getProgramPath } from "../../../support/program.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

const day = 24 * 3_600_000;
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Creates a state with two uploads, and returns a function that checks it on a given day. */
async function createUploads(t: TestContext) {
  const home = await createTemporaryFolder(t);
  const [path, folder] = [join(home, "emulator.json"), join(home, "files")];
  await mkdir(folder);
  const first = createMovedWallClock().now();
  const upload = async (text: string, onDay = 0) => {
    const file = join(folder, hashOf(text));
    await writeFile(file, text);
    const at = (first + onDay * day) / 1000;
    await utimes(file, at, at);
  };
  await upload("named");
  await upload("unnamed");
  /** Returns the texts of the uploads that a check on that day removes. */
  const look = async (onDay: number, referencedNames: readonly string[] = ["named"]) => {
    const wall = { ...createMovedWallClock(), now: () => first + onDay * day };
    return collectBlobs({ path, folder, wall, findReferencedBlobs: async () => new Set(referencedNames.map(hashOf)) });
  };
  const listBlobNames = async () => (await readdir(folder)).filter((name) => name !== "svc-unnamed.json").sort();
  return { home, path, folder, upload, look, listBlobNames };
}

describe("unreferenced upload", () => {
  it("is removed after 30 days without a reference", async (t) => {
    const { look, listBlobNames } = await createUploads(t);
    assert.deepEqual([await look(0), await look(15), await look(29.9)], [[], [], []]);
    assert.deepEqual(await look(31), [hashOf("unnamed")]);
    assert.deepEqual(await listBlobNames(), [hashOf("named")]);
  });

  it("is retained for another 30 days after a reference", async (t) => {
    const { look } = await createUploads(t);
    await look(0);
    await look(20, ["named", "unnamed"]);
    assert.deepEqual([await look(40), await look(69), await look(71)], [[], [], [hashOf("unnamed")]]);
  });

  it("is retained for 30 days after the upload, even with an older note", async (t) => {
    const { look, upload } = await createUploads(t);
    await look(0);
    await upload("unnamed", 40);
    assert.deepEqual([await look(50), await look(71)], [[], [hashOf("unnamed")]]);
  });

  it("is searched for once a day, and only if uploads exist", async (t) => {
    const { look, folder, home } = await createUploads(t);
    let searchCount = 0;
    const path = join(home, "emulator.json");
    const findReferencedBlobs = async () => {
      searchCount += 1;
      return new Set<string>();
    };
    for (let i = 0; i < 3; i += 1)
      await collectBlobs({ path, folder, wall: createMovedWallClock(), findReferencedBlobs: findReferencedBlobs });
    assert.equal(searchCount, 1);
    // The day simulates a wrong clock. A check in the future does not delay the checks of today.
    await look(900);
    await collectBlobs({ path, folder, wall: createMovedWallClock(), findReferencedBlobs: findReferencedBlobs });
    assert.equal(searchCount, 2);
    await mkdir(join(home, "empty"));
    await collectBlobs({
      path,
      folder: join(home, "empty"),
      wall: createMovedWallClock(),
      findReferencedBlobs: findReferencedBlobs,
    });
    assert.deepEqual([searchCount, await readdir(join(home, "empty"))], [2, []]);
  });

  for (const name of ["other.json", "emulator.json.damaged", "export.json", "emulator.json.journal.2.torn"]) {
    it(`is retained while ${name} is next to the state, and for 30 more days`, async (t) => {
      const { look, home, listBlobNames } = await createUploads(t);
      await look(0);
      await writeFile(join(home, name), "{}");
      assert.deepEqual([await look(40), await look(80)], [[], []]);
      assert.equal((await listBlobNames()).length, 2);
      await utimes(join(home, name), 1, 1);
      const { rm } = await import("node:fs/promises");
      await rm(join(home, name));
      assert.deepEqual([await look(81), await look(110), await look(112)], [[], [], [hashOf("unnamed")]]);
    });
  }

  it("is removed if only files of the state itself remain", async (t) => {
    const { look, home } = await createUploads(t);
    for (const end of ["", ".journal.12", ".run", ".run.AbCdEf_-1234.socket", ".0123456789ab.svc-tmp"]) {
      await writeFile(join(home, `emulator.json${end}`), "");
    }
    await look(0);
    assert.deepEqual(await look(31), [hashOf("unnamed")]);
  });

  it("is recognized by its file name, and other files stay untouched", async (t) => {
    const { look, folder, listBlobNames } = await createUploads(t);
    const otherFiles = ["notes.txt", "a".repeat(64), hashOf("x").toUpperCase(), `${hashOf("x")}.pdf`];
    await writeFile(join(folder, "notes.txt"), "mine");
    await symlink("notes.txt", join(folder, otherFiles[1]!));
    for (const name of otherFiles.slice(2)) await writeFile(join(folder, name), "mine");
    await look(0);
    await look(4_000_000);
    assert.deepEqual(await listBlobNames(), [...otherFiles, hashOf("named")].sort());
    assert.equal(await readFile(join(folder, "notes.txt"), "utf8"), "mine");
  });

  it("is retained with the note if the note belongs to another user", async (t) => {
    const { look, folder, listBlobNames } = await createUploads(t);
    await writeFile(join(folder, "svc-unnamed.json"), '{"mine":true}');
    await assert.rejects(look(0), { message: /svc-unnamed\.json has other contents/ });
    assert.equal(await readFile(join(folder, "svc-unnamed.json"), "utf8"), '{"mine":true}');
    assert.equal((await listBlobNames()).length, 2);
  });
});

describe("interrupted removal of uploads", () => {
  for (const [call, count] of [
    ["rm", 3],
    ["rename", 1],
  ] as const) {
    it(`leaves complete files after ${call} number ${count} and can be resumed`, async (t) => {
      const home = await createTemporaryFolder(t);
      const [path, folder] = [join(home, "emulator.json"), join(home, "files")];
      await mkdir(folder);
      const texts = Array.from({ length: 8 }, (_, i) => `text ${i}`);
      const long = "2001-01-01T00:00:00.000Z";
      for (const text of texts) {
        await writeFile(join(folder, hashOf(text)), text);
        await utimes(join(folder, hashOf(text)), new Date(long), new Date(long));
      }
      const unnamed_since = Object.fromEntries(texts.map((text) => [hashOf(text), long]));
      await writeFile(join(folder, "svc-unnamed.json"), JSON.stringify({ looked_at: long, unnamed_since }));

      const child = spawn(process.execPath, [getProgramPath("blob-collector"), path, call, String(count)]);
      assert.deepEqual(await once(child, "close"), [null, "SIGKILL"]);
      const remaining = (await readdir(folder)).filter((name) => name !== "svc-unnamed.json");
      assert.equal(remaining.length, call === "rm" ? texts.length - count : 0);
      for (const name of remaining) assert.equal(hashOf(await readFile(join(folder, name), "utf8")), name);

      // A removed upload is added again and no longer matches the note.
      await writeFile(join(folder, hashOf(texts[0]!)), texts[0]!);
      const wall = { ...createMovedWallClock(), now: () => Date.now() + 2 * day };
      const removed = await collectBlobs({ path, folder, wall, findReferencedBlobs: async () => new Set() });
      assert.deepEqual([...removed].sort(), remaining.filter((name) => name !== hashOf(texts[0]!)).sort());
      assert.deepEqual((await readdir(folder)).sort(), [hashOf(texts[0]!), "svc-unnamed.json"].sort());
    });
  }
});
