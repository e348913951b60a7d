import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ShutdownController } from "./shutdown-controller.ts";

/** Performs work in a private folder whose name begins with `prefix`. Removes it afterwards and at a forced exit. */
export async function withTemporaryFolder<T>(
  prefix: string,
  { shutdown }: { readonly shutdown: ShutdownController },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const ignoreForcedExit = shutdown.onForcedExit(() => rmSync(folder, { recursive: true, force: true }));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    ignoreForcedExit();
  }
}
