import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import { acquireFileLock, isLocked } from "../../../src/cli/connection/profiles/private-file.ts";
import type { Host } from "../../../src/cli/process/host.ts";
import { identifyMachine } from "../../../src/files/machine.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { getProgramPath } from "../../support/program.ts";

const host = { pid: process.pid, wall: systemWallClock } as Host;
const unusedPid = 2 ** 22 + 1;

describe("file lock", () => {
  it("is acquired by only one of many processes when the lock is stale", async (t) => {
    const folder = await createTestFolder(t);
    const file = join(folder, "lock");
    const processes = Array.from({ length: 4 }, () =>
      spawn(process.execPath, [getProgramPath("lock-taker"), file, "60"], { stdio: ["ignore", "ignore", "pipe"] }),
    );
    const ends = processes.map(async (child) => {
      const stderr = child.stderr.setEncoding("utf8").toArray();
      const [code] = await once(child, "close");
      return [code, (await stderr).join("")];
    });
    assert.deepEqual(
      await Promise.all(ends),
      processes.map(() => [0, ""]),
    );
    assert.deepEqual(await readdir(folder), ["lock"]);
  });

  it("belongs to one process at a time and is free after release", async (t) => {
    const file = join(await createTestFolder(t), "lock");
    const lock = await acquireFileLock(file, host);
    assert.deepEqual([await acquireFileLock(file, host), await isLocked(file, host)], [undefined, true]);
    await lock!.release();
    assert.equal(await isLocked(file, host), false);
    assert.ok(await acquireFileLock(file, host));
  });

  const heldBy = async (pid = process.pid) => ({ id: "left", pid, ...(await identifyMachine()) });
  for (const [whose, content] of [
    ["whose process is gone", async () => JSON.stringify(await heldBy(unusedPid))],
    ["of an earlier process with the same process ID", async () => JSON.stringify(await heldBy())],
    ["that cannot be read", async () => "{"],
  ] as const) {
    it(`allows the takeover of a lock ${whose}`, async (t) => {
      const folder = await createTestFolder(t);
      const file = join(folder, "lock");
      await writeFile(file, await content());
      const lock = await acquireFileLock(file, host);
      assert.equal(await isLocked(file, host), true);
      await lock!.release();
      assert.deepEqual(await readdir(folder), []);
    });
  }

  it("passes to the next process after a killed takeover", async (t) => {
    const folder = await createTestFolder(t);
    const file = join(folder, "lock");
    await writeFile(file, JSON.stringify(await heldBy(unusedPid)));
    await writeFile(`${file}.left`, JSON.stringify({ ...(await heldBy(unusedPid)), id: "heir" }));
    const lock = await acquireFileLock(file, host);
    await lock!.release();
    assert.deepEqual(await readdir(folder), []);
  });

  it("stays valid for five minutes without a heartbeat from another machine", async (t) => {
    const folder = await createTestFolder(t);
    const [file, life] = [join(folder, "lock"), join(folder, "log")];
    await writeFile(file, JSON.stringify({ ...(await heldBy()), machine: "elsewhere", boot: "another" }));
    await writeFile(life, "");
    const ago = (ms: number) => new Date(Date.now() - ms);
    await utimes(file, ago(3_600_000), ago(3_600_000));
    await utimes(life, ago(240_000), ago(240_000));
    assert.equal(await acquireFileLock(file, host, life), undefined);
    await utimes(life, ago(360_000), ago(360_000));
    assert.ok(await acquireFileLock(file, host, life));
  });
});
