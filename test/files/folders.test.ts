import assert from "node:assert/strict";
import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { makeFolder } from "../../src/files/folders.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";

const codeOf = (error: NodeJS.ErrnoException) => error.code;

describe("creation of a folder", () => {
  it("creates parents for the owner only and returns the topmost new folder", async (t) => {
    const cwd = await createTestFolder(t);
    assert.equal(await makeFolder(join(cwd, "a", "b", "c")), join(cwd, "a"));
    assert.equal(await makeFolder(join(cwd, "a", "b", "d")), join(cwd, "a", "b", "d"));
    assert.equal(await makeFolder(join(cwd, "a", "b")), undefined);
    assert.equal((await stat(join(cwd, "a", "b"))).mode & 0o777, 0o700);
  });

  it("accepts an existing folder behind a link, but rejects a file in the path", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, "real"));
    await symlink("real", join(cwd, "link"));
    await symlink("nowhere", join(cwd, "dangling"));
    await writeFile(join(cwd, "file"), "");
    assert.equal(await makeFolder(join(cwd, "link")), undefined);
    const codes = ["file", "file/below", "dangling"].map((name) => makeFolder(join(cwd, name)).then(() => "", codeOf));
    assert.deepEqual(await Promise.all(codes), ["EEXIST", "ENOTDIR", "EEXIST"]);
  });

  it("creates a folder once for concurrent calls", async (t) => {
    const cwd = await createTestFolder(t);
    const all = Array.from({ length: 20 }, () => makeFolder(join(cwd, "a", "b")));
    await Promise.all(all);
    assert.ok((await stat(join(cwd, "a", "b"))).isDirectory());
  });

  it("fails immediately if the parent exists but the folder cannot be created", {
    skip: process.platform !== "linux" && "there is no /proc here",
  }, async () => {
    const codes = ["/proc/none", "/proc/none/below"].map((path) => makeFolder(path).then(() => "", codeOf));
    assert.deepEqual(await Promise.all(codes), ["ENOENT", "ENOENT"]);
    const { exit, stderr } = await runCli("config set router_url http://r.example", {
      cwd: "/proc",
      env: { SVC_CONFIG_DIR: "/proc/none" },
    });
    assert.deepEqual(
      [exit, stderr.split("\n")[0]],
      [1, "error: Failed to write /proc/none/profiles.json: it does not exist (ENOENT)."],
    );
  });
});
