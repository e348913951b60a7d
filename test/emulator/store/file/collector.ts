/**
 * A process that removes the unreferenced uploads of a state and kills itself after a number of calls of one file
 * system function. Usage: collector.ts STATE rm|rename COUNT
 */
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";

const [, , path, name, count] = process.argv as [string, string, string, "rm" | "rename", string];
const real = fs[name] as (...args: unknown[]) => Promise<void>;
let calls = 0;
Object.assign(fs, {
  async [name](...args: unknown[]) {
    await real(...args);
    calls += 1;
    if (calls === Number(count)) process.kill(process.pid, "SIGKILL");
  },
});
syncBuiltinESMExports();

const { collectBlobs } = await import("../../../../emulator/store/file/blob-collection.ts");
const { systemWallClock } = await import("../../../../src/base/clock.ts");
await collectBlobs({
  path,
  folder: join(dirname(path), "files"),
  wall: systemWallClock,
  findReferencedBlobs: async () => new Set(),
});
