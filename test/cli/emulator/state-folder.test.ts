import assert from "node:assert/strict";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { testFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

it("--emulator in a subfolder uses the state of the folder above, and says so; the state's folder is ignored by git", async (t) => {
  const cwd = await testFolder(t);
  const below = join(cwd, "src/deep");
  await mkdir(below, { recursive: true });
  const hooks =
    "webhooks create --emulator --title Mine --url http://127.0.0.1:9/ --only-for-activities CONTRACT_SIGNED";
  assert.equal((await runCli(hooks, { cwd })).exit, 0);
  assert.equal(await readFile(join(cwd, ".svc/.gitignore"), "utf8"), "*\n");

  const shown = await runCli("emulator webhooks --emulator --fields title", { cwd: below });
  const above = join("..", "..", ".svc/emulator.json");
  assert.deepEqual(shown, { exit: 0, out: "Mine\n", err: `Using the emulator's state in ${above}\n` });
  assert.deepEqual(await readdir(below), []);

  const own = await runCli("emulator webhooks --emulator --fields title", { cwd });
  assert.deepEqual(own, { exit: 0, out: "Mine\n", err: "" });
});
