import assert from "node:assert/strict";
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

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
