import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const inMemory = "/dev/shm";
const enoughBytes = 2 ** 31;

/**
 * A folder for what tests write while they run, and what programs that they start leave behind; removed with the process.
 * It lies in memory where there is room: tests look at what is written, and make thousands of small folders; whether a
 * disk keeps it, no test could see.
 */
export function scratchFolder(): string {
  const path = mkdtempSync(join(isFit() ? inMemory : tmpdir(), "svc-test-"));
  // A server that refuses to be root goes through it.
  chmodSync(path, 0o755);
  process.on("exit", () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
  return path;
}

/** Containers often have a small one there, or one from which no program may be started. */
function isFit(): boolean {
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
    const [, , type, options = ""] = mounts.find((line) => line.split(" ")[1] === inMemory)?.split(" ") ?? [];
    return type === "tmpfs" && !options.split(",").includes("noexec") && bavail * bsize >= enoughBytes;
  } catch {
    return false;
  }
}
