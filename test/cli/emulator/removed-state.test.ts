import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";

/** An emulator in its own process, and commands that find it only by its address. */
async function startEmulatorProcess(t: TestContext) {
  const cwd = await createTestFolder(t);
  const emulator = await startSvcProcess(t, ["emulator", "start", "--port", "0", "--json", "--ready-file", "ready"], {
    cwd,
  });
  await emulator.saw('"event":"ready"');
  const { router_url } = JSON.parse(await readFile(join(cwd, "ready"), "utf8"));
  const { token } = JSON.parse(await readFile(join(cwd, ".svc/emulator.json.run"), "utf8"));
  const env = { SVC_EMULATOR_URL: router_url, SVC_EMULATOR_TOKEN: token };
  return { cwd, emulator, run: (line: string) => runCli(line, { cwd, env }) };
}

/** The names of the tokens suffice to identify a state. */
const listTokenNames = async (run: (line: string) => ReturnType<typeof runCli>) =>
  (await run("emulator tokens list --format tsv --fields name")).stdout;

describe("emulator with a removed folder", () => {
  it("restores its files, reports the removal and stores later changes", async (t) => {
    const { cwd, emulator, run } = await startEmulatorProcess(t);
    await run("emulator tokens create before --role read");
    await rm(join(cwd, ".svc"), { recursive: true });
    while ((await run("emulator tokens create meanwhile --role read")).exit !== 0);
    await emulator.saw("was removed. It is rewritten from memory");
    while ((await run("emulator tokens create after --role read")).exit !== 0);

    emulator.child.kill("SIGKILL");
    await once(emulator.child, "exit");
    assert.equal(
      await listTokenNames((line) => runCli(`${line} --emulator`, { cwd })),
      "name\nbefore\nmeanwhile\nafter\n",
    );
  });

  it("restores its files at shutdown", async (t) => {
    const { cwd, emulator, run } = await startEmulatorProcess(t);
    await run("emulator tokens create before --role read");
    const exit = once(emulator.child, "exit");
    await rm(join(cwd, ".svc"), { recursive: true });
    const result = await run("emulator stop");
    await exit;
    assert.deepEqual([result.exit, result.stderr], [0, "Stopped\n"]);
    assert.equal(await listTokenNames((line) => runCli(`${line} --emulator`, { cwd })), "name\nbefore\n");
  });
});

describe("emulator with a replaced state file", () => {
  it("rejects changes, preserves the foreign file and continues after that file is moved away", async (t) => {
    const { cwd, emulator, run } = await startEmulatorProcess(t);
    const file = join(cwd, ".svc/emulator.json");
    await run("emulator tokens create before --role read");
    await copyFile(file, `${file}.copy`);
    await rename(`${file}.copy`, file);
    await emulator.saw("was replaced by another file. Move it away to restore it from memory");
    const foreign = await readFile(file, "utf8");
    const result = await run("emulator tokens create meanwhile --role read");
    assert.deepEqual([result.exit, /was replaced by another file/.test(result.stderr)], [75, true]);
    assert.equal(await readFile(file, "utf8"), foreign);

    await rename(file, join(cwd, "foreign.json"));
    while ((await run("emulator tokens create after --role read")).exit !== 0);
    const exit = once(emulator.child, "exit");
    assert.equal((await run("emulator stop")).exit, 0);
    await exit;
    assert.equal(await listTokenNames((line) => runCli(`${line} --emulator`, { cwd })), "name\nbefore\nafter\n");
  });

  it("reports unsaved data at shutdown", async (t) => {
    const { cwd, emulator, run } = await startEmulatorProcess(t);
    const file = join(cwd, ".svc/emulator.json");
    await copyFile(file, `${file}.copy`);
    await rename(`${file}.copy`, file);
    await emulator.saw("was replaced by another file");
    const exit = once(emulator.child, "exit");
    const result = await run("emulator stop");
    assert.match(
      result.stderr,
      /^warning: The emulator could not write its state before it stopped\. Recent changes may be lost\. Its log has the reason, unless it is on the same full disk\.\n/,
    );
    assert.equal((await exit)[0], 1);
    assert.match(emulator.stderr(), /Recent changes are lost/);
  });
});
