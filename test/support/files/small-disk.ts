import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Mounts a real disk of this many megabytes until the test ends. Returns undefined if mounting is not possible. */
export async function mountSmallDisk(t: TestContext, megabytes = 1): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "svc-disk-"));
  let mounted = false;
  t.after(async () => {
    if (mounted) execFileSync("umount", ["-l", folder]);
    await rm(folder, { recursive: true, force: true });
  });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  mounted = true;
  return folder;
}
