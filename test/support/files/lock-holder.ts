/**
 * A process that prints "up", tries to take a lock for each input line, and prints "held" or the identity of the
 * holder. It lives until its input ends. Usage: lock-holder.ts FILE
 */
import { createInterface } from "node:readline";
import { systemWallClock } from "../../../src/base/clock.ts";
import { acquireLock, isLockConflict } from "../../../src/files/lock.ts";

const [, , file] = process.argv as [string, string, string];
process.stdout.write("up\n");
for await (const _ of createInterface({ input: process.stdin })) {
  const lock = await acquireLock(file, { wall: systemWallClock });
  process.stdout.write(`${isLockConflict(lock) ? lock.life : "held"}\n`);
}
