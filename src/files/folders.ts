import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
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

/**
 * The path that all names of a file lead to, absolute and without links, also where there is no file yet: links are
 * followed to where one would be made. Fails with ELOOP if links lead in a circle.
 */
export async function resolveRealPath(path: string): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const folder = dirname(absolute);
  if (folder === absolute) return absolute;
  const realFolder = await resolveRealPath(folder);
  const beneath = join(realFolder, basename(absolute));
  // Anything but a link that leads nowhere is a file that is to be made.
  const leadsTo = await readlink(beneath).catch(() => undefined);
  return leadsTo === undefined ? beneath : resolveRealPath(resolve(realFolder, leadsTo));
}

/** A path next to a file that no file has yet: `<file>.<word>`, `<file>.<word>-2`, … */
export async function freeName(disk: Disk, file: string, word: string): Promise<string> {
  const names = new Set(await disk.list(dirname(file)));
  let name = `${basename(file)}.${word}`;
  for (let i = 2; names.has(name); i += 1) name = `${basename(file)}.${word}-${i}`;
  return join(dirname(file), name);
}
