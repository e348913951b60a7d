/**
 * A process that repeatedly takes a lock and leaves the lock file as a killed process would. Fails if another process
 * holds the lock at the same time. Usage: lock-taker.ts FILE TIMES
 */
import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { systemWallClock } from "../../../src/base/clock.ts";
import { acquireFileLock } from "../../../src/cli/connection/profiles/private-file.ts";
import type { Host } from "../../../src/cli/process/host.ts";
import { identifyMachine } from "../../../src/files/machine.ts";

const [, , file, times] = process.argv as [string, string, string, string];
const host = { pid: process.pid, wall: systemWallClock } as Host;

for (let takenCount = 0; takenCount < Number(times); ) {
  const lock = await acquireFileLock(file, host);
  if (!lock) {
    await turn();
    continue;
  }
  await writeFile(`${file}-inside`, "", { flag: "wx" });
  await turn();
  await rm(`${file}-inside`);
  takenCount += 1;
  const goneHolder = { id: randomBytes(9).toString("base64url"), pid: 2 ** 22 + 1, ...(await identifyMachine()) };
  await writeFile(`${file}-${process.pid}`, JSON.stringify(goneHolder));
  await rename(`${file}-${process.pid}`, file);
  // The lock belongs to another process now and stays.
  await lock.release();
}
