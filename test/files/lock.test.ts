import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { acquireLock, isLockConflict, type LockHolder } from "../../src/files/lock.ts";
import { identifyMachine } from "../../src/files/machine.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { createMovedWallClock } from "../support/clocks/moved-wall-clock.ts";
import { getNamespaceCommand, startLockProcess } from "../support/files/lock-process.ts";

const wall = createMovedWallClock();

/** The result of an attempt: `held`, or whether the holder lives. An acquired lock is released. */
async function attempt(file: string): Promise<string> {
  const lock = await acquireLock(file, { wall });
  if (isLockConflict(lock)) return lock.life;
  await lock.release();
  return "held";
}

/** A holder that has left a lock without a socket, as on a disk without socket support. */
const createLeftHolder = async (pid: number): Promise<LockHolder> => ({
  id: "left",
  pid,
  ...(await identifyMachine()),
});

describe("process lock", () => {
  it("passes to exactly one of six processes after its holder is killed", async (t) => {
    const folder = await createTestFolder(t);
    const file = join(folder, "lock");
    const holder = await startLockProcess(t, file);
    const heirs = await Promise.all(Array.from({ length: 6 }, () => startLockProcess(t, file)));
    assert.equal(await holder.take(), "held");
    assert.deepEqual(await Promise.all(heirs.map((heir) => heir.take())), Array(6).fill("alive"));
    await holder.kill();
    const outcomes = await Promise.all(heirs.map((heir) => heir.take()));
    assert.deepEqual(outcomes.sort(), [...Array(5).fill("alive"), "held"]);
    await Promise.all(heirs.map((heir) => heir.kill()));
    assert.equal(await attempt(file), "held");
    assert.deepEqual(await readdir(folder), []);
  });

  it("creates a socket that only its owner can use under any umask", async (t) => {
    const folder = await createTestFolder(t);
    const before = process.umask(0);
    t.after(() => process.umask(before));
    const lock = await acquireLock(join(folder, "lock"), { wall });
    if (isLockConflict(lock)) return assert.fail("somebody else has it");
    const modes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).mode));
    assert.deepEqual(new Set(modes.map((mode) => mode & 0o777)), new Set([0o600]));
    await lock.release();
  });

  it("is restored after removal by a user, but does not replace another file", async (t) => {
    const file = join(await createTestFolder(t), "folder", "lock");
    await mkdir(join(file, ".."));
    const lock = await acquireLock(file, { wall, content: { tells: 1 } });
    if (isLockConflict(lock)) return assert.fail("somebody else has it");
    assert.equal(await lock.ensureHeld(), true);
    const before = await readFile(file, "utf8");
    await rm(join(file, ".."), { recursive: true });
    assert.deepEqual([await lock.ensureHeld(), await readFile(file, "utf8")], [true, before]);
    await writeFile(file, "mine");
    assert.deepEqual([await lock.ensureHeld(), await readFile(file, "utf8")], [false, "mine"]);
    await rm(file);
    await mkdir(file);
    assert.equal(await lock.ensureHeld(), false);
    await rm(file, { recursive: true });
    await lock.release();
  });

  it("remains held in its own process after its socket is removed", async (t) => {
    const folder = await createTestFolder(t);
    const lock = await acquireLock(join(folder, "lock"), { wall });
    if (isLockConflict(lock)) return assert.fail("somebody else has it");
    for (const name of await readdir(folder)) if (name.endsWith(".socket")) await rm(join(folder, name));
    assert.equal(await attempt(join(folder, "lock")), "alive");
    await lock.release();
    assert.equal(await attempt(join(folder, "lock")), "held");
  });

  it("remains held while its holder is stopped", async (t) => {
    const file = join(await createTestFolder(t), "lock");
    const holder = await startLockProcess(t, file);
    assert.equal(await holder.take(), "held");
    holder.signal("SIGSTOP");
    assert.equal(await attempt(file), "alive");
  });

  const zombies = process.platform === "linux" ? false : "only the kernel of Linux reports that a process has ended";
  it("becomes free when its holder has exited, even as a zombie", { skip: zombies }, async (t) => {
    const file = join(await createTestFolder(t), "lock");
    // The shell becomes a program that never waits for its inherited child.
    const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => parent.kill("SIGKILL"));
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    await writeFile(file, JSON.stringify(await createLeftHolder(pid)));
    assert.equal(await attempt(file), "uncertain");
    // Before that, the shell itself could collect its child.
    let program = "";
    while (program !== "sleep\n") program = await readFile(`/proc/${parent.pid}/comm`, "utf8");
    process.kill(pid, "SIGKILL");
    // The signal is delivered asynchronously.
    let stat = "";
    while (!/\) Z /.test(stat)) stat = await readFile(`/proc/${pid}/stat`, "utf8");
    assert.equal(await attempt(file), "held");
  });

  const within = getNamespaceCommand();
  const skip = within ? false : "no PID namespace can be made here";
  it("is visible in another PID namespace, in both directions", { skip }, async (t) => {
    const file = join(await createTestFolder(t), "lock");
    const inside = await startLockProcess(t, file, within);
    const outside = await startLockProcess(t, file);
    assert.equal(await inside.take(), "held");
    assert.equal(await outside.take(), "alive");
    await inside.kill();
    assert.equal(await outside.take(), "held");
    const another = await startLockProcess(t, file, within);
    assert.equal(await another.take(), "alive");
    await outside.kill();
    assert.equal(await another.take(), "held");
  });

  it("works if the path is too long for a socket address", async (t) => {
    const folder = join(await createTestFolder(t), "a".repeat(200));
    await mkdir(folder);
    const file = join(folder, "lock");
    const holder = await startLockProcess(t, file);
    assert.equal(await holder.take(), "held");
    const storedHolder = JSON.parse(await readFile(file, "utf8")) as LockHolder;
    assert.equal(process.platform === "linux" ? typeof storedHolder.socket : "string", "string");
    // From another namespace, so that its pid proves nothing.
    await writeFile(file, JSON.stringify({ ...storedHolder, pid_namespace: "pid:[1]" }));
    assert.equal(await attempt(file), process.platform === "linux" ? "alive" : "remote");
    await holder.kill();
    assert.equal(await attempt(file), process.platform === "linux" ? "held" : "remote");
  });
});

describe("existing lock file", () => {
  const gonePid = 2 ** 22 + 1;
  const linux = process.platform === "linux" ? false : "the kernel reports no start time of itself or of a process";
  const cases: [label: string, left: (holder: LockHolder) => object, becomes: string, skip?: string | false][] = [
    ["remains held without a socket while its pid exists", (holder) => ({ ...holder, pid: process.ppid }), "uncertain"],
    ["is replaced if an earlier process had the current pid", (holder) => holder, "held"],
    ["is replaced if its pid does not exist", (holder) => ({ ...holder, pid: gonePid }), "held"],
    ["is replaced if the machine was restarted", (holder) => ({ ...holder, boot: "an earlier one" }), "held", linux],
    ["remains held for another machine", (holder) => ({ ...holder, machine: "elsewhere", boot: "another" }), "remote"],
    [
      "remains held for another machine with the same name",
      (holder) => ({ ...holder, machine_id: "1", boot: "2" }),
      "remote",
      linux,
    ],
    ["remains held for another PID namespace", (holder) => ({ ...holder, pid_namespace: "pid:[1]" }), "remote"],
  ];
  for (const [label, changeHolder, becomes, skip = false] of cases) {
    it(label, { skip }, async (t) => {
      const file = join(await createTestFolder(t), "lock");
      const text = JSON.stringify(changeHolder(await createLeftHolder(process.pid)));
      await writeFile(file, text);
      assert.equal(await attempt(file), becomes);
      if (becomes !== "held") assert.equal(await readFile(file, "utf8"), text);
    });
  }

  it("is free if its holder releases it while others check the holder", async (t) => {
    const file = join(await createTestFolder(t), "lock");
    await writeFile(file, JSON.stringify(await createLeftHolder(process.ppid)));
    const lock = await acquireLock(file, {
      wall,
      // Read between the file and the state of its holder.
      get forgotten() {
        rmSync(file, { force: true });
        return undefined;
      },
    });
    if (isLockConflict(lock)) return assert.fail(lock.life);
    await lock.release();
  });

  it("ignores a socket in another folder", async (t) => {
    const folder = await createTestFolder(t);
    const server = createServer().listen(join(folder, "socket"));
    t.after(() => server.close());
    await mkdir(join(folder, "below"));
    const holder = { ...(await createLeftHolder(gonePid)), socket: "../socket" };
    await writeFile(join(folder, "below", "lock"), JSON.stringify(holder));
    assert.equal(await attempt(join(folder, "below", "lock")), "held");
  });

  for (const [label, text] of [
    ["empty", ""],
    ["full of zeros", "\0\0\0\0"],
    ["truncated", '{"id":"x"'],
  ] as const) {
    it(`replaces a file that is ${label}, as after a power failure`, async (t) => {
      const file = join(await createTestFolder(t), "lock");
      await writeFile(file, text);
      assert.equal(await attempt(file), "held");
    });
  }

  for (const [label, text] of [
    ["text", "my notes\n"],
    ["a JSON object", '{"name":"mine"}'],
    ["a JSON list", "[]"],
    ["null", "null"],
  ] as const) {
    it(`rejects a file with ${label} and leaves the file unchanged`, async (t) => {
      const file = join(await createTestFolder(t), "lock");
      await writeFile(file, text);
      await assert.rejects(attempt(file), {
        name: "NotALockFileError",
        message: /lock is a file with other contents, not a lock file of svc\./,
      });
      assert.equal(await readFile(file, "utf8"), text);
    });
  }

  it("rejects a link, a folder and a socket, and leaves each unchanged", async (t) => {
    const folder = await createTestFolder(t);
    await writeFile(join(folder, "there"), "");
    await symlink("nowhere", join(folder, "dangling"));
    await symlink("there", join(folder, "link"));
    await mkdir(join(folder, "folder"));
    const server = createServer().listen(join(folder, "socket"));
    t.after(() => server.close());
    for (const [name, is] of [
      ["dangling", "a symbolic link"],
      ["link", "a symbolic link"],
      ["folder", "a folder"],
      ["socket", "a special file"],
    ] as const) {
      const file = join(folder, name);
      await assert.rejects(attempt(file), {
        name: "NotALockFileError",
        message: new RegExp(`^${file} is ${is}, not a lock file of svc\\.`),
      });
    }
    assert.equal(await readlink(join(folder, "dangling")), "nowhere");
    assert.deepEqual((await readdir(folder)).sort(), ["dangling", "folder", "link", "socket", "there"]);
  });
});
