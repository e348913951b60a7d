import { dirname, resolve } from "node:path";
import type { Disk } from "./disk.ts";

/** Makes a folder and those above it, so that a crash does not take them away with everything in them. */
export async function makeFolderDurably(disk: Disk, path: string): Promise<void> {
  const topmost = await disk.makeFolder(path);
  if (topmost === undefined) return;
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    await disk.syncFolder(dirname(folder));
    if (folder.length <= resolve(topmost).length) return;
  }
}
