import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const inMemory = "/dev/shm";
const enoughBytes = 2 ** 31;

/**
 * Creates a folder for files of tests and of the programs that they start, which is removed when the process exits. It
 * is in memory if there is room, because tests create thousands of small folders and never depend on durability.
 */
export function createScratchFolder(): string {
  const path = mkdtempSync(join(isFit() ? inMemory : tmpdir(), "svc-test-"));
  // The PostgreSQL server, which rejects root, must be able to enter the folder.
  chmodSync(path, 0o755);
  process.on("exit", () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
  return path;
}

/** Reports whether the in-memory file system is suitable. In containers it is often small or mounted noexec. */
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
