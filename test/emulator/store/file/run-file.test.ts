import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { claimRunFile, listRunFilePaths, type RunFile } from "../../../../emulator/store/file/run-file.ts";
import { identifyMachine } from "../../../../src/files/machine.ts";
import { createMovedWallClock } from "../../../support/clocks/moved-wall-clock.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

const run = (instance: string, pid = process.pid): RunFile => ({
  pid,
  instance_id: instance,
  router_url: "http://127.0.0.1:4010",
  control_url: "http://127.0.0.1:4010/_emulator",
  clusters: [{ id: "eu-1", url: "http://127.0.0.1:4011" }],
  token: "secret-token",
});

const wall = createMovedWallClock();
const claim = (paths: readonly string[], run: RunFile | undefined) => claimRunFile({ paths, run: run, wall });

/** Returns the PID of an ended process. */
const getEndedPid = (): number => spawnSync(process.execPath, ["--version"]).pid;
const readInstanceId = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, "utf8")).instance_id;

describe("run file", () => {
  it("describes the running process, is private, and is removed at the end", async (t) => {
    const folder = await createTemporaryFolder(t);
    const path = join(folder, ".svc", "emulator.json.run");
    const claimedFiles = await claim([path], { ...run("one"), clusters: [] });
    await claimedFiles.update({ clusters: run("one").clusters });
    const { id: _, since, socket: __, ...holder } = JSON.parse(await readFile(path, "utf8"));
    const { machine: ___, machine_id: ____, boot: _____, pid_namespace: ______, ...rest } = holder;
    assert.deepEqual({ ...rest, since }, { ...run("one"), path, since: new Date(wall.now()).toISOString() });
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await claimedFiles.release();
    assert.deepEqual(await readdir(join(folder, ".svc")), []);
  });

  it("rejects a second emulator and names the first without its token", async (t) => {
    const path = join(await createTemporaryFolder(t), "emulator.json.run");
    const first = await claim([path], run("one"));
    await assert.rejects(claim([path], run("two")), (error: Error) => {
      assert.equal(error.name, "StateLockedError");
      assert.match(error.message, /pid \d+, http:\/\/127\.0\.0\.1:4010.*svc emulator stop/);
      assert.doesNotMatch(error.message, /secret-token/);
      return true;
    });
    assert.equal(await readInstanceId(path), "one");
    await first.release();
  });

  it("reports a running repair, which has no address", async (t) => {
    const path = join(await createTemporaryFolder(t), "emulator.json.run");
    const repair = await claim([path], undefined);
    const message = `"svc emulator repair" is running on this state (${path}: pid ${process.pid}). Wait until it ends.`;
    await assert.rejects(claim([path], run("two")), { name: "StateLockedError", message });
    await repair.release();
  });

  it("is rejected from another machine, with host, PID, time and remedy", async (t) => {
    const path = join(await createTemporaryFolder(t), "emulator.json.run");
    const since = "2031-01-02T03:04:05.000Z";
    await writeFile(path, JSON.stringify({ ...run("one", 17), id: "left", machine: "box-7", boot: "b", since }));
    await assert.rejects(claim([path], run("two")), {
      name: "StateLockedError",
      message:
        `An emulator on another machine or in another container is using this state (${path}: on box-7, pid 17, http://127.0.0.1:4010, ` +
        `since ${since}). Stop it there, remove ${path} if it has ended, or choose another file with the option file.`,
    });
  });

  it("belongs to exactly one of many processes that replace a stale one", async (t) => {
    const path = join(await createTemporaryFolder(t), "emulator.json.run");
    await writeFile(path, JSON.stringify({ ...run("old", getEndedPid()), id: "old", ...(await identifyMachine()) }));
    const starting = Array.from({ length: 8 }, (_, i) => claim([path], run(`new-${i}`)));
    const settled = await Promise.allSettled(starting);
    assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
    for (const result of settled) if (result.status === "fulfilled") await result.value.release();
  });

  it("is not removed by a release in another process", async (t) => {
    const path = join(await createTemporaryFolder(t), "emulator.json.run");
    const first = await claim([path], run("one"));
    await writeFile(path, JSON.stringify(run("two")));
    await first.release();
    assert.equal(await readInstanceId(path), "two");
  });
});

describe("run file selection", () => {
  it("uses the real state and the option, once if both are the same", async (t) => {
    const folder = await createTemporaryFolder(t);
    await mkdir(join(folder, "real"));
    await symlink("real", join(folder, "link"));
    const state = join(folder, "real", "a.json");
    assert.deepEqual(await listRunFilePaths(state, join(folder, "link", "x")), [
      `${state}.run`,
      join(folder, "real", "x"),
    ]);
    const both = await listRunFilePaths(state, join(folder, "link", "a.json.run"));
    const claimedFiles = await claim(both, run("one"));
    await claimedFiles.release();
    assert.deepEqual(await listRunFilePaths(undefined, undefined), []);
  });

  it("releases all run files even if one belongs to another user", async (t) => {
    const folder = await createTemporaryFolder(t);
    const [first, second] = [join(folder, "a.json.run"), join(folder, "link")];
    await symlink("nowhere", second);
    await assert.rejects(claim([first, second], run("one")), { name: "NotALockFileError" });
    assert.deepEqual(await readdir(folder), ["link"]);
    assert.equal(await readlink(second), "nowhere");
  });
});
