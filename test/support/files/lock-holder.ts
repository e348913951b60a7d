/**
 * A process that says "up", tries to take a lock when a line comes in, tells what became of it ("held", or the life of
 * who has it), and lives until its input ends. Usage: lock-holder.ts FILE
 */
import { createInterface } from "node:readline";
import { systemWallClock } from "../../../src/base/clock.ts";
import { acquireLock, isLockConflict } from "../../../src/files/lock.ts";

const [, , file] = process.argv as [string, string, string];
process.stdout.write("up\n");
for await (const _ of createInterface({ input: process.stdin })) {
  const taken = await acquireLock(file, { wall: systemWallClock });
  process.stdout.write(`${isLockConflict(taken) ? taken.life : "held"}\n`);
}
