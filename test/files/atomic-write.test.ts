import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, readlink, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { changePrivateFile } from "../../src/cli/connection/profiles/private-file.ts";
import { writeOutput } from "../../src/cli/output/file.ts";
import { createProcessHost } from "../../src/cli/process/process-host.ts";
import {
  createFileAtomic,
  createTemporaryName,
  isTemporaryName,
  parseTemporaryName,
  writeFileAtomic,
} from "../../src/files/atomic-write.ts";
import { resolveRealPath } from "../../src/files/folders.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { ForgetfulDisk } from "../support/files/forgetful-disk.ts";

async function* streamBroken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("half");
  throw new Error("connection lost");
}

describe("atomic write", () => {
  it("replaces the old file with owner-only permissions and leaves no other file", async (t) => {
    const folder = await createTestFolder(t);
    const file = join(folder, "a");
    for (const content of ["one", Buffer.from("two"), [Buffer.from("th"), Buffer.from("ree")]]) {
      await writeFileAtomic(file, content);
      const text = typeof content === "string" ? content : Buffer.concat([content].flat()).toString();
      assert.deepEqual([await readFile(file, "utf8"), (await stat(file)).mode & 0o777], [text, 0o600]);
    }
    assert.deepEqual(await readdir(folder), ["a"]);
  });

  it("preserves the old file if the content stream fails", async (t) => {
    const folder = await createTestFolder(t);
    const file = join(folder, "a");
    await writeFileAtomic(file, "old");
    await assert.rejects(writeFileAtomic(file, streamBroken()), { message: "connection lost" });
    await assert.rejects(createFileAtomic(join(folder, "b"), streamBroken()), { message: "connection lost" });
    assert.deepEqual([await readFile(file, "utf8"), await readdir(folder)], ["old", ["a"]]);
  });

  it("preserves the old file if a step fails, until it is replaced", async () => {
    for (const step of ["create", "write", "sync", "rename", "syncFolder"] as const) {
      const disk = new ForgetfulDisk();
      await writeFileAtomic("/a", "old", { disk });
      disk.beforeStep = (currentStep) => {
        if (currentStep === step) throw new Error("no space left");
      };
      let placed = false;
      const onReplaced = () => {
        placed = true;
      };
      await assert.rejects(writeFileAtomic("/a", "new", { disk, onReplaced }), { message: "no space left" });
      assert.deepEqual([placed, await disk.list("/")], [step === "syncFolder", ["a"]]);
    }
  });

  it("replaces a link instead of its target, and rejects a folder", async (t) => {
    const folder = await createTestFolder(t);
    await writeFile(join(folder, "theirs"), "mine");
    await symlink("theirs", join(folder, "link"));
    await mkdir(join(folder, "folder"));
    await writeFileAtomic(join(folder, "link"), "ours");
    await assert.rejects(writeFileAtomic(join(folder, "folder"), "ours"), { code: "EISDIR" });
    assert.deepEqual((await readdir(folder)).sort(), ["folder", "link", "theirs"]);
    assert.equal(await readFile(join(folder, "theirs"), "utf8"), "mine");
  });

  it("creates a file for one of many callers without replacing a name or link", async (t) => {
    const folder = await createTestFolder(t);
    const file = join(folder, "a");
    const creations = await Promise.all(Array.from({ length: 8 }, (_, i) => createFileAtomic(file, `text ${i}`)));
    assert.equal(creations.filter(Boolean).length, 1);
    assert.equal(await readFile(file, "utf8"), `text ${creations.indexOf(true)}`);
    await symlink("nowhere", join(folder, "link"));
    assert.equal(await createFileAtomic(join(folder, "link"), "ours"), false);
    assert.deepEqual((await readdir(folder)).sort(), ["a", "link"]);
  });

  it("uses a recognizable temporary name", () => {
    assert.equal(isTemporaryName(createTemporaryName("upload"), "upload"), true);
    assert.deepEqual(
      [parseTemporaryName(createTemporaryName("a.json")), parseTemporaryName("a.json")],
      ["a.json", undefined],
    );
    const otherNames = ["upload.tmp", "upload.0123456789ab.tmp", "other.0123456789ab.svc-tmp", "upload.0123.svc-tmp"];
    assert.deepEqual(
      otherNames.filter((name) => isTemporaryName(name, "upload")),
      [],
    );
  });
});

describe("real path of a file", () => {
  it("is identical for all its names, even before the file exists", async (t) => {
    const folder = await realpath(await createTestFolder(t));
    await mkdir(join(folder, "real"));
    await symlink("real", join(folder, "to-folder"));
    await symlink("../to-folder/b", join(folder, "real", "a"));
    const names = ["real/b", "to-folder/b", "to-folder/a", "real/../real/./a", "to-folder/none/../b"];
    const resolveAll = async () => Promise.all(names.map((name) => resolveRealPath(`${folder}/${name}`)));
    const expected = names.map(() => join(folder, "real", "b"));
    assert.deepEqual(await resolveAll(), expected);
    await writeFile(join(folder, "real", "b"), "");
    assert.deepEqual(await resolveAll(), expected);
  });

  it("is undefined for a cycle of links", async (t) => {
    const folder = await createTestFolder(t);
    await symlink("b", join(folder, "a"));
    await symlink("a", join(folder, "b"));
    await assert.rejects(resolveRealPath(join(folder, "a")), { code: "ELOOP" });
  });
});

describe("output files of the command line", () => {
  it("preserves links and permissions, even for a missing target", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "old"), "");
    await chmod(join(cwd, "old"), 0o666);
    await symlink("old", join(cwd, "to-old"));
    await symlink("new", join(cwd, "to-new"));
    const host = { ...createProcessHost(), cwd };
    await writeOutput(host, "to-old", [Buffer.from("text")]);
    await writeOutput(host, "to-new", [Buffer.from("text")]);
    await symlink("config", join(cwd, "to-config"));
    const anything = () => undefined;
    const context = { host, signal: AbortSignal.timeout(60_000) };
    await changePrivateFile(context, join(cwd, "to-config"), anything, () => ({ a: 1 }));
    assert.deepEqual(await Promise.all(["to-old", "to-new", "to-config"].map((name) => readlink(join(cwd, name)))), [
      "old",
      "new",
      "config",
    ]);
    assert.deepEqual(
      [await readFile(join(cwd, "old"), "utf8"), await readFile(join(cwd, "new"), "utf8")],
      ["text", "text"],
    );
    assert.equal((await stat(join(cwd, "old"))).mode & 0o777, 0o666);
    assert.equal((await stat(join(cwd, "config"))).mode & 0o777, 0o600);
    assert.deepEqual((await readdir(cwd)).sort(), ["config", "new", "old", "to-config", "to-new", "to-old"]);
  });
});
