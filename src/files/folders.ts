import { mkdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Disk } from "./disk.ts";

/** Creates a folder and its parents durably, so that a crash does not remove them. */
export async function makeFolderDurably(disk: Disk, path: string): Promise<void> {
  const topmost = await disk.makeFolder(path);
  if (topmost === undefined) return;
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    await disk.syncFolder(dirname(folder));
    if (folder.length <= resolve(topmost).length) return;
  }
}

/**
 * The path that all names of a file lead to: absolute and without links. A file that does not exist has one too: links
 * are followed to the position where it would be created. Fails with ELOOP if links form a circle.
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
  // Everything except a dangling link is a file that will be created.
  const leadsTo = await readlink(beneath).catch(() => undefined);
  return leadsTo === undefined ? beneath : resolveRealPath(resolve(realFolder, leadsTo));
}

/** An unused path next to a file: `<file>.<word>`, `<file>.<word>-2`, … */
export async function freeName(disk: Disk, file: string, word: string): Promise<string> {
  const names = new Set(await disk.list(dirname(file)));
  let name = `${basename(file)}.${word}`;
  for (let i = 2; names.has(name); i += 1) name = `${basename(file)}.${word}-${i}`;
  return join(dirname(file), name);
}

/**
 * Creates a folder and its parents, for their owner only. Resolves with the topmost folder that did not exist. Node's
 * recursive `mkdir` loops forever if the system reports that a folder does not exist although its parent does, as below
 * /proc.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  const absolute = resolve(path);
  const created = await makeOne(absolute).catch((error: unknown) => {
    if (isMissing(error) && dirname(absolute) !== absolute) return "missing" as const;
    throw error;
  });
  if (created !== "missing") return created ? absolute : undefined;
  const topmost = await makeFolder(dirname(absolute));
  return (await makeOne(absolute)) ? (topmost ?? absolute) : topmost;
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/** False if it existed before. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const found = isMissing(error) ? undefined : await stat(path).catch(() => undefined);
    if (found?.isDirectory()) return false;
    throw error;
  }
}
