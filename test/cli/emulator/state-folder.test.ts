import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, readFile, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";

it("--emulator in a subfolder uses the state of the parent folder, which git ignores", async (t) => {
  const cwd = await createTestFolder(t);
  const below = join(cwd, "src/deep");
  await mkdir(below, { recursive: true });
  const hooks =
    "webhooks create --emulator --title Mine --url http://127.0.0.1:9/ --only-for-activities CONTRACT_SIGNED";
  assert.equal((await runCli(hooks, { cwd })).exit, 0);
  assert.equal(await readFile(join(cwd, ".svc/.gitignore"), "utf8"), "*\n");

  const result = await runCli("emulator webhooks --emulator --fields title", { cwd: below });
  const above = join("..", "..", ".svc/emulator.json");
  assert.deepEqual(result, { exit: 0, stdout: "Mine\n", stderr: `Using the emulator's state in ${above}\n` });
  assert.deepEqual(await readdir(below), []);

  const own = await runCli("emulator webhooks --emulator --fields title", { cwd });
  assert.deepEqual(own, { exit: 0, stdout: "Mine\n", stderr: "" });
});

it("--emulator skips an unreadable .svc in a parent folder", async (t) => {
  const cwd = await createTestFolder(t);
  const below = join(cwd, "project");
  await mkdir(below);
  // Root can read every folder, but a link to itself is unreadable for every user.
  await symlink(".svc", join(cwd, ".svc"));
  const status = await runCli("contracts status T-1", { cwd: below });
  assert.deepEqual([status.exit, status.stderr.split("\n")[0]], [2, "error: No service address is configured."]);
  const result = await runCli("emulator webhooks --emulator --fields title", { cwd: below });
  assert.deepEqual([result.exit, await readdir(below)], [0, [".svc"]], result.stderr);
});

describe("link of another author in .svc", () => {
  it("is not followed to the uploads, snapshots or history of the state", async (t) => {
    for (const name of ["files", "emulator.json.snapshots", "emulator.json.history"]) {
      const cwd = await createTestFolder(t);
      const outside = await createTestFolder(t);
      await mkdir(join(cwd, ".svc"));
      await symlink(outside, join(cwd, ".svc", name));
      for (const args of ["", " --file .svc/emulator.json"]) {
        const { exit, stderr } = await runCli(`emulator webhooks --emulator${args}`, { cwd });
        assert.equal(exit, 1, name);
        if (args !== "" || name === "files")
          assert.match(stderr, new RegExp(`${name} is a symbolic link\\. Remove the link, or choose a file`));
      }
      assert.deepEqual(await readdir(outside), []);
    }
  });

  it("is not followed to a journal", async (t) => {
    const [running, cwd] = [await createTestFolder(t), await createTestFolder(t)];
    const emulator = await startTestEmulator(t, { file: join(running, "state.json") });
    await createDraftContract(emulator.api);
    const names = (await readdir(running)).filter((name) => /^state\.json(\.journal\.\d+)?$/.test(name));
    assert.equal(names.length, 2);
    for (const name of names) {
      await copyFile(join(running, name), join(cwd, `${name}.moved`));
      if (name === "state.json") await rename(join(cwd, `${name}.moved`), join(cwd, name));
      else await symlink(`${name}.moved`, join(cwd, name));
    }
    const { exit, stderr } = await runCli("emulator webhooks --emulator --file state.json", { cwd });
    assert.equal(exit, 1);
    assert.match(stderr, /it is a link, or its links form a loop \(ELOOP at \S+\.journal\.\d+\)\. Remove the link/);
  });

  it("in place of the folder requires a confirmation", async (t) => {
    const cwd = await createTestFolder(t);
    const outside = await createTestFolder(t);
    await symlink(outside, join(cwd, ".svc"));
    const { exit, stderr } = await runCli("emulator webhooks --emulator", { cwd });
    assert.deepEqual([exit, await readdir(outside)], [1, []]);
    assert.match(stderr, /\.svc was not made by this user on this machine\.\n/);
  });
});
