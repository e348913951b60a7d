import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Blobs } from "../../../../emulator/store/blobs.ts";
import { openFileBlobs } from "../../../../emulator/store/file/blob-collection.ts";
import { createMemoryBlobs } from "../../../../emulator/store/memory-store.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { createGatedDisk, createTemporaryFolder } from "../../../support/store.ts";

const kinds: [name: string, open: (t: TestContext) => Promise<Blobs>][] = [
  ["in memory", async () => createMemoryBlobs()],
  ["in a folder", async (t) => openFileBlobs({ folder: join(await createTemporaryFolder(t), "files") })],
];

async function* streamPieces(...pieces: string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function readText(bytes: AsyncIterable<Uint8Array> | undefined): Promise<string | undefined> {
  if (bytes === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const sha256 = createHash("sha256").update("one two").digest("hex");
const md5 = createHash("md5").update("one two").digest("hex");

for (const [name, open] of kinds) {
  describe(`blob store ${name}`, () => {
    it("returns bytes by their hash", async (t) => {
      const blobs = await open(t);
      assert.deepEqual(await blobs.put(streamPieces("one", " two"), 7), { sha256, md5, size: 7 });
      assert.deepEqual(await blobs.put(streamPieces("one two"), 7), { sha256, md5, size: 7 });
      assert.equal(await readText(await blobs.open(sha256)), "one two");
      assert.equal(await readText(await blobs.open(sha256)), "one two");
    });

    it("accepts empty bytes", async (t) => {
      const blobs = await open(t);
      const empty = await blobs.put(streamPieces(), 0);
      assert.equal(empty.size, 0);
      assert.equal(await readText(await blobs.open(empty.sha256)), "");
    });

    it("does not store bytes over the limit", async (t) => {
      const blobs = await open(t);
      await assert.rejects(blobs.put(streamPieces("one", " two"), 6), { name: "BlobTooLargeError" });
      assert.equal(await blobs.open(sha256), undefined);
    });

    it("returns nothing for an unknown name", async (t) => {
      const blobs = await open(t);
      assert.deepEqual(await Promise.all(["0".repeat(64), "../blobs.test.ts", ""].map(blobs.open)), [
        undefined,
        undefined,
        undefined,
      ]);
    });
  });
}

describe("blob folder", () => {
  it("contains only complete files that only the owner can read", async (t) => {
    const folder = join(await createTemporaryFolder(t), "files");
    const blobs = await openFileBlobs({ folder });
    await assert.rejects(blobs.put(streamPieces("one", " two"), 6));
    await assert.rejects(blobs.put(streamBroken(), 100), { message: "connection lost" });
    await blobs.put(streamPieces("one two"), 100);
    assert.deepEqual(await readdir(folder), [sha256]);
    assert.equal((await stat(join(folder, sha256))).mode & 0o777, 0o600);
  });

  it("loses incomplete files of a crash, but no links or other names", async (t) => {
    const folder = await createTemporaryFolder(t);
    const otherFiles = ["0123456789ab.tmp", "notes.tmp", "upload.tmp", "upload.0123456789ab.svc-tmp.txt", "theirs"];
    for (const name of otherFiles) await writeFile(join(folder, name), "mine");
    await writeFile(join(folder, "upload.0123456789ab.svc-tmp"), "half");
    await symlink("theirs", join(folder, "upload.ba9876543210.svc-tmp"));
    await openFileBlobs({ folder });
    assert.deepEqual((await readdir(folder)).sort(), [...otherFiles, "upload.ba9876543210.svc-tmp"].sort());
    assert.equal(await readFile(join(folder, "theirs"), "utf8"), "mine");
  });

  it("loses an upload that kill -9 interrupted", async (t) => {
    const folder = await createTemporaryFolder(t);
    // A disk on which the upload never ends, which simulates a crash.
    let endUpload = () => {};
    const disk = createGatedDisk((call) =>
      call === "sync" ? new Promise((_, reject) => (endUpload = () => reject(new Error("killed")))) : null,
    );
    const blobs = await openFileBlobs({ folder, disk });
    const interruptedUpload = assert.rejects(blobs.put(streamPieces("one two"), 100));
    // Node 26 ends a process that forgets an open file.
    addCleanup(t, async () => {
      endUpload();
      await interruptedUpload;
    });
    while ((await readdir(folder)).length === 0);
    await openFileBlobs({ folder });
    assert.deepEqual(await readdir(folder), []);
  });

  it("contains no part of an upload that could not be synced", async (t) => {
    const folder = await createTemporaryFolder(t);
    const disk = createGatedDisk((call) => (call === "sync" ? Promise.reject(new Error("input/output error")) : null));
    const blobs = await openFileBlobs({ folder, disk });
    await assert.rejects(blobs.put(streamPieces("one two"), 100), {
      name: "StoreFailedError",
      message: "The upload cannot be written: input/output error",
    });
    assert.deepEqual(await readdir(folder), []);
  });
});

async function* streamBroken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("one");
  throw new Error("connection lost");
}
