import assert from "node:assert/strict";
import { lstat, mkdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startEmulator } from "../../../emulator/index.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { prepareEmulatorProcess } from "../../support/emulator-start.ts";
import { getNamespaceCommand } from "../../support/files/lock-process.ts";

/** Creates a folder that is reached through a symbolic link and contains a symbolic link to the state file. */
async function createLinkedFolder(t: TestContext): Promise<{ readonly folder: string; readonly state: string }> {
  const folder = await createTestFolder(t);
  await mkdir(join(folder, "real"));
  await symlink("real", join(folder, "folder"));
  await symlink("state.json", join(folder, "real", "link.json"));
  return { folder, state: join(folder, "real", "state.json") };
}

describe("state with a single writer", () => {
  it("rejects a second emulator with any run file or path", async (t) => {
    const { folder, state } = await createLinkedFolder(t);
    const first = await prepareEmulatorProcess(t, { file: state, runFile: join(folder, "first.run") });
    assert.equal(await first.start(), "up");
    const names = [state, join(folder, "folder", "state.json"), join(folder, "real", "link.json"), "folder/link.json"];
    const another = await prepareEmulatorProcess(t, {}, { cwd: folder });
    const stateLocked =
      `StateLockedError: An emulator is already running on this state (${state}.run: …). ` +
      `Use it, stop it with "svc emulator stop --file ${state}", or choose another file with the option file.`;
    for (const [i, file] of names.entries()) {
      const outcome = await another.start({ file, runFile: join(folder, `${i}.run`) });
      assert.equal(outcome.replace(/pid \d+, http:[^)]*/, "…"), stateLocked);
    }
  });

  const within = getNamespaceCommand();
  const skip = within ? false : "no PID namespace can be made here";
  it("rejects a second emulator in another PID namespace, in both directions", { skip }, async (t) => {
    const folder = await createTestFolder(t);
    const inside = await prepareEmulatorProcess(t, {}, { within: within! });
    const outside = await prepareEmulatorProcess(t, {});
    for (const [owner, another] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      const file = join(folder, owner === inside ? "inside.json" : "outside.json");
      assert.equal(await owner.start({ file }), "up");
      const rejected = await another.start({ file, runFile: join(folder, "other.run") });
      assert.match(rejected, /^StateLockedError: An emulator is already running on this state/);
    }
  });

  it("stays locked while its owner is stopped, then admits one of three processes", async (t) => {
    const file = join(await createTestFolder(t), "state.json");
    const owner = await prepareEmulatorProcess(t, { file });
    assert.equal(await owner.start(), "up");
    owner.signal("SIGSTOP");
    const early = await prepareEmulatorProcess(t, { file });
    assert.match(await early.start(), /^StateLockedError: /);

    const standbys = Array.from({ length: 2 }, () => prepareEmulatorProcess(t, { file }));
    const heirs = [early, ...(await Promise.all(standbys))];
    await owner.kill();
    const outcomes = await Promise.all(heirs.map((heir) => heir.start()));
    assert.deepEqual(outcomes.map((outcome) => outcome.replace(/:.*/, "")).sort(), [
      "StateLockedError",
      "StateLockedError",
      "up",
    ]);
  });

  it("is found by the commands under each of its paths", async (t) => {
    const { folder, state } = await createLinkedFolder(t);
    const emulator = await startEmulator({ port: 0, file: state });
    t.after(() => emulator.close());
    for (const file of ["real/state.json", "folder/link.json"]) {
      const { exit, stdout } = await runCli(["emulator", "status", "--json", "--file", file], { cwd: folder });
      const { router_url, requests_kept, inboxes_kept } = JSON.parse(stdout);
      assert.deepEqual([exit, router_url], [0, emulator.routerUrl]);
      assert.deepEqual([requests_kept.max_bytes, requests_kept.dropped], [4 * 1024 * 1024, 0]);
      assert.deepEqual(inboxes_kept, { count: 0, bytes: 0, max_bytes: 8 * 1024 * 1024, dropped: 0 });
    }
  });
});

describe("state behind a symbolic link", () => {
  it("writes to the target and preserves the link", async (t) => {
    const { folder, state } = await createLinkedFolder(t);
    const link = join(folder, "real", "link.json");
    for (const _ of ["first start", "second start"]) {
      const emulator = await startEmulator({ port: 0, file: link });
      await emulator.close();
      assert.equal(await readlink(link), "state.json");
      assert.equal((await lstat(state)).isFile(), true);
    }
  });
});

describe("unrelated file at the run file's path", () => {
  for (const [label, make, is] of [
    ["a dangling symbolic link", (path: string) => symlink("nowhere", path), "a symbolic link"],
    ["a file with other contents", (path: string) => writeFile(path, "mine\n"), "a file with other contents"],
  ] as const) {
    it(`rejects ${label} with a message and leaves the file unchanged`, async (t) => {
      const cwd = await createTestFolder(t);
      await make(join(cwd, "my.run"));
      const look = async () => readlink(join(cwd, "my.run")).catch(() => readFile(join(cwd, "my.run"), "utf8"));
      const before = await look();
      for (const options of [["--ephemeral"], ["--file", "state.json"]]) {
        const { exit, stderr } = await runCli(["emulator", "start", "--port", "0", ...options], {
          cwd,
          env: { SVC_RUN_FILE: "my.run" },
        });
        const sentence = `${join(cwd, "my.run")} is ${is}, not a lock file of svc. Nothing was changed`;
        assert.deepEqual([exit, stderr.includes(sentence)], [1, true], stderr);
      }
      assert.equal(await look(), before);
    });
  }
});
